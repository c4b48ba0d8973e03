"""What the policy store promises on every database."""

import asyncio
import itertools
import math
from dataclasses import replace

import pytest
from sqlalchemy import event, text

from aligngraph.errors import StoreError
from aligngraph.persistence import Candidate, Increment, PolicyStore, Response, Run, Update
from aligngraph.persistence.call_records import RECENT_RUNS
from aligngraph.persistence.records import days_ago
from aligngraph.persistence.schema import read_revision

RUN = Run(run_id="r1", domain="maths", task="What is 6 * 7?", seed=0, team={"agents": ["a", "b"]}, team_digest="d1")


def candidate(position, **changes):
    fields = {
        "candidate_id": f"c{position}",
        "agent": "careful",
        "strategy": "plain",
        "sample": position,
        "position": position,
        "answer": "42",
        "text": "so it is 42",
        "usage": {"calls": 1, "prompt_tokens": 7},
    }
    return Candidate(**{**fields, **changes})


def an_update(run_id="r1"):
    return Update(run_id, 1, "maths", (Increment("careful/plain", "agent", 0.75),))


@pytest.fixture
async def store(location):
    async with await PolicyStore.open(location) as store:
        yield store


@pytest.fixture
def commits(store):
    """Grow by one with every transaction that writes."""
    seen = []
    event.listen(store._database._writer, "commit", seen.append)
    return seen


class TestRuns:
    async def test_a_run_comes_back_as_it_was_started(self, store):
        assert await store.start_run(RUN) == RUN
        assert await store.read_run("r1") == RUN

    async def test_an_unknown_run_is_none(self, store):
        assert await store.read_run("never") is None

    async def test_starting_again_changes_nothing(self, store):
        await store.start_run(RUN)
        await store.finish_run("r1", "ok", {"answer": "42"})
        again = await store.start_run(replace(RUN, seed=5, team={}))
        assert (again.status, again.seed, again.team) == ("ok", 0, RUN.team)

    @pytest.mark.parametrize("change", [{"task": "What is 6 * 8?"}, {"domain": "law"}, {"team_digest": "d2"}])
    async def test_an_id_used_for_another_task_is_refused(self, store, change):
        await store.start_run(RUN)
        with pytest.raises(StoreError, match="'r1' was used for another task"):
            await store.start_run(replace(RUN, **change))
        assert await store.read_run("r1") == RUN

    @pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**62])
    async def test_every_seed_survives(self, store, seed):
        assert (await store.start_run(Run(run_id="s", domain="d", task="t", seed=seed))).seed == seed

    async def test_a_finished_run_keeps_its_decision(self, store):
        await store.start_run(RUN)
        decision = {"answer": "42", "entropy": 0.1 + 0.2, "why": None, "names": ["é", "数"]}
        await store.finish_run("r1", "degraded", decision)
        stored = await store.read_run("r1")
        assert (stored.status, stored.decision) == ("degraded", decision)
        assert stored.started_at <= stored.finished_at
        assert stored.finished_at.endswith("+00:00")

    async def test_whoever_finds_the_decision_finds_the_evidence(self, store):
        """They are written at once: after a crash between them nothing could be learned from feedback."""
        await store.start_run(RUN)
        await store.finish_run("r1", "ok", {"answer": "42"}, {"posterior": [0.1, 0.9], "preference": None})
        assert (await store.read_run("r1")).evidence == {"posterior": [0.1, 0.9], "preference": None}
        await store.finish_run("r1", "ok", {"answer": "42"})
        assert (await store.read_run("r1")).evidence == {"posterior": [0.1, 0.9], "preference": None}

    async def test_a_failed_run_has_no_decision(self, store):
        await store.start_run(RUN)
        await store.finish_run("r1", "failed", None)
        stored = await store.read_run("r1")
        assert (stored.status, stored.decision) == ("failed", None)

    async def test_a_run_that_was_never_started_cannot_finish(self, store):
        with pytest.raises(StoreError, match="no run 'r9'"):
            await store.finish_run("r9", "ok", {})

    async def test_a_decision_that_is_no_json_changes_nothing(self, store):
        await store.start_run(RUN)
        with pytest.raises(Exception, match="Out of range float"):
            await store.finish_run("r1", "ok", {"entropy": float("nan")})
        assert (await store.read_run("r1")).status == "running"

    async def test_only_a_running_run_can_be_interrupted(self, store):
        await store.start_run(RUN)
        await store.mark_interrupted("r1")
        assert (await store.read_run("r1")).status == "interrupted"
        await store.finish_run("r1", "ok", {})
        await store.mark_interrupted("r1")
        assert (await store.read_run("r1")).status == "ok"

    async def test_a_run_under_way_can_be_asked_to_stop(self, store):
        await store.start_run(RUN)
        await store.start_run(replace(RUN, run_id="r2"))
        assert await store.read_stopped({"r1", "r2"}) == set()
        assert await store.request_cancel("r1") == await store.read_run("r1") == replace(RUN, status="cancelling")
        assert (await store.request_cancel("r1")).status == "cancelling"
        assert await store.read_stopped({"r1", "r2", "never"}) == {"r1"}
        assert await store.read_stopped({"r2"}) == await store.read_stopped(set()) == set()
        await store.mark_interrupted("r1")
        assert (await store.request_cancel("r1")).status == "interrupted"
        assert await store.read_stopped({"r1", "r2"}) == {"r1"}

    async def test_nobody_is_asked_to_stop_what_is_not_under_way(self, store):
        assert await store.request_cancel("never") is None
        await store.start_run(RUN)
        await store.finish_run("r1", "failed", None)
        assert (await store.request_cancel("r1")).status == "failed"
        assert await store.read_stopped({"r1"}) == set()

    async def test_a_run_may_end_though_it_was_asked_to_stop(self, store):
        await store.start_run(RUN)
        await store.request_cancel("r1")
        await store.finish_run("r1", "ok", {"answer": "42"})
        await store.mark_interrupted("r1")
        assert (await store.read_run("r1")).status == "ok"

    @pytest.mark.parametrize("stop", ["mark_interrupted", "request_cancel"])
    async def test_a_run_that_is_taken_up_again_is_running(self, store, stop):
        await store.start_run(RUN)
        await getattr(store, stop)("r1")
        await store.mark_resumed("r1")
        assert await store.read_run("r1") == RUN

    async def test_a_run_that_ended_is_not_taken_up_again(self, store):
        await store.mark_resumed("never")
        await store.start_run(RUN)
        await store.finish_run("r1", "ok", {})
        await store.mark_resumed("r1")
        assert (await store.read_run("r1")).status == "ok"
        assert await store.read_run("never") is None


class TestCandidates:
    async def test_come_back_in_seed_order(self, store):
        drawn = [candidate(2), candidate(0, answer=None, text="", error="timed out"), candidate(1)]
        for one in drawn:
            await store.record_candidate("r1", one)
        await store.record_candidate("r2", candidate(0))
        assert await store.read_candidates("r1") == sorted(drawn, key=lambda one: one.position)

    async def test_the_first_of_an_id_stays(self, store):
        await store.record_candidate("r1", candidate(0))
        await store.record_candidate("r1", candidate(0, text="again"))
        assert await store.read_candidates("r1") == [candidate(0)]

    @pytest.mark.parametrize(("written", "read"), [("a\0b", "a\ufffdb"), ("a\ud83d", "a\ufffd"), ("😀\x1b", "😀\x1b")])
    async def test_any_text_can_be_kept(self, store, written, read):
        await store.record_candidate("r1", candidate(0, text=written, usage={"stop": written}))
        [stored] = await store.read_candidates("r1")
        assert stored.text == read
        assert stored.usage["stop"].replace("\0", "\ufffd") == read

    async def test_those_that_come_together_share_a_transaction(self, store, commits):
        await asyncio.gather(*(store.record_candidate("r1", candidate(i)) for i in range(32)))
        assert len(await store.read_candidates("r1")) == 32
        assert 1 <= len(commits) <= 2

    async def test_texts_are_read_by_id(self, store):
        for one in (candidate(1), candidate(0, answer=None, text="", error="timed out")):
            await store.record_candidate("r1", one)
        await store.record_candidate("r2", candidate(0, text="another run's"))
        assert await store.read_texts("r1") == {
            candidate(0).candidate_id: "",
            candidate(1).candidate_id: candidate(1).text,
        }
        assert await store.read_texts("r9") == {}

    async def test_those_read_together_are_of_the_run_that_each_asked_for(self, store):
        for run in ("r1", "r2"):
            await store.record_candidate(run, candidate(0, text=run))
        found = await asyncio.gather(*(store.read_candidates(run) for run in ("r1", "r2", "r9", "r1")))
        assert [[one.text for one in drawn] for drawn in found] == [["r1"], ["r2"], [], ["r1"]]


class TestRankings:
    async def test_the_first_verdict_of_a_round_stays(self, store):
        await store.record_ranking("r1", 1, {"order": [1, 0]})
        await store.record_ranking("r1", 1, {"order": [0, 1]})
        await store.record_ranking("r1", 2, {"order": []})
        assert await store.read_ranking("r1", 1) == {"order": [1, 0]}
        assert await store.read_ranking("r1", 2) == {"order": []}
        assert await store.read_ranking("r1", 3) is None


class TestEarlierUsage:
    """What earlier candidates used, by which the cost of a task is estimated."""

    async def test_it_is_that_of_the_agents_asked_for_over_all_runs(self, store):
        for number, agent in enumerate(["careful", "hasty", "careful", "other"]):
            await store.start_run(replace(RUN, run_id=f"r{number}"))
            await store.record_candidate(f"r{number}", candidate(number, agent=agent, usage={"calls": number + 1}))
        found = await store.calls.read_usage(["careful", "hasty", "nobody"])
        assert sorted(found) == ["careful", "hasty"]
        assert sorted(usage["calls"] for usage in found["careful"]) == [1, 3]
        assert found["hasty"] == [{"calls": 2}]

    async def test_candidates_that_failed_say_nothing(self, store):
        await store.start_run(RUN)
        await store.record_candidate("r1", candidate(0, text="", answer=None, error="HTTP 503"))
        assert await store.calls.read_usage(["careful"]) == {}

    async def test_only_the_latest_runs_count(self, store):
        for number in range(RECENT_RUNS + 1):
            started_at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000+00:00"
            await store.start_run(replace(RUN, run_id=f"r{number}", started_at=started_at))
        for number in (0, 1, RECENT_RUNS):
            await store.record_candidate(f"r{number}", candidate(number, usage={"calls": number}))
        found = await store.calls.read_usage(["careful"])
        assert sorted(usage["calls"] for usage in found["careful"]) == [1, RECENT_RUNS]


class TestOpening:
    async def test_what_was_written_is_there_when_opened_again(self, location, store):
        await store.apply_update(an_update())
        await store.close()
        async with await PolicyStore.open(location) as again:
            assert (await again.read_sums("maths")).find("careful/plain").count == 1.0

    async def test_closing_twice_is_harmless(self, store):
        await store.close()
        await store.close()

    async def test_a_newer_schema_is_left_alone(self, location, store):
        newer = text("UPDATE aligngraph_version SET version_num = 'policy_9999'")
        await store._database.write(lambda connection: connection.execute(newer))
        with pytest.raises(StoreError, match=r"newer aligngraph .*'policy_9999'.*--db"):
            await PolicyStore.open(location)
        assert await store._database.read(read_revision) == "policy_9999"

    async def test_several_may_open_a_new_database_at_once(self, location):
        stores = await asyncio.gather(*(PolicyStore.open(location) for _ in range(4)))
        for i, store in enumerate(stores):
            assert (await store.apply_update(an_update(f"r{i}"))).applied
            await store.close()


class TestCircuits:
    async def test_there_are_none_at_first_and_then_they_come_back(self, store):
        assert await store.calls.read_circuits() == {}
        circuit = {"failures": 2, "opened_at": 1.7e9 + 0.1, "cause": "503 \N{SNOWMAN}", "trial_at": None}
        assert await store.calls.change_circuit("m@http://a/v1", lambda known: {**circuit, "was": known}) == {
            **circuit,
            "was": None,
        }
        assert await store.calls.read_circuits() == {"m@http://a/v1": {**circuit, "was": None}}

    async def test_a_change_is_given_what_is_stored(self, store):
        for number in range(3):
            await store.calls.change_circuit("m", lambda known, number=number: {"seen": [known, number]})
        assert await store.calls.read_circuits() == {"m": {"seen": [{"seen": [{"seen": [None, 0]}, 1]}, 2]}}

    async def test_each_model_has_its_own(self, store):
        for model in ("a", "b"):
            await store.calls.change_circuit(model, lambda _, model=model: {"of": model})
        assert await store.calls.read_circuits() == {"a": {"of": "a"}, "b": {"of": "b"}}

    async def test_a_change_that_fails_leaves_nothing(self, store):
        def fail(_):
            raise ValueError("no circuit can be like this")

        with pytest.raises(ValueError, match="no circuit"):
            await store.calls.change_circuit("m", fail)
        assert await store.calls.read_circuits() == {}
        await store.calls.change_circuit("m", lambda known: {"was": known})
        with pytest.raises(ValueError, match="no circuit"):
            await store.calls.change_circuit("m", fail)
        assert await store.calls.read_circuits() == {"m": {"was": None}}

    async def test_nobody_comes_between_not_even_at_the_first_failure_of_all(self, location, store):
        """A row that is not there yet cannot be locked, and two processes would both begin at one."""

        def count(known):
            return {"failures": (known or {"failures": 0})["failures"] + 1}

        async with await PolicyStore.open(location) as other:
            workers = itertools.islice(itertools.cycle([store, other]), 40)
            await asyncio.gather(*(worker.calls.change_circuit("m", count) for worker in workers))
            assert await other.calls.read_circuits() == {"m": {"failures": 40}}

    async def test_any_cause_can_be_kept(self, store):
        await store.calls.change_circuit("m\0\ud83d", lambda _: {"cause": "cut \ud83d\0"})
        [(model, circuit)] = (await store.calls.read_circuits()).items()
        assert model == "m\ufffd\ufffd"
        assert circuit["cause"].replace("\0", "\ufffd") == "cut \ufffd\ufffd"

    @pytest.mark.parametrize("stored", ["no JSON", "[" * 100_000, ""], ids=["words", "deep", "empty"])
    async def test_a_row_that_cannot_be_read_hides_no_other_and_is_replaced(self, store, stored):
        for model in ("a", "b"):
            await store.calls.change_circuit(model, lambda _: {"failures": 2})
        await store_text(store, "UPDATE circuits SET circuit = :stored WHERE model = 'a'", stored)
        assert await store.calls.read_circuits() == {"a": {"unreadable": stored[:80]}, "b": {"failures": 2}}
        await store.calls.change_circuit("a", lambda known: {"was": sorted(known)})
        assert (await store.calls.read_circuits())["a"] == {"was": ["unreadable"]}


PAID = {"calls": 1, "prompt_tokens": 7, "cost": 0.1 + 0.2}


def reply(key="k", text="so it is", **changes):
    fields = {"run_id": "r1", "agent": "a", "model": "m", "sample": 0, "reply": {"text": text}, "usage": PAID}
    return Response(key, **{**fields, **changes})


async def store_text(store, statement, stored):
    await store._database.write(lambda connection: connection.execute(text(statement), {"stored": stored}))


async def keep(store, response, keep_days=30):
    await store.calls.keep_response(response, keep_days=keep_days)


async def find(store, key, keep_days=30):
    return await store.calls.find_response(key, keep_days=keep_days)


class TestResponses:
    async def test_a_reply_is_found_by_its_key_alone_with_all_that_was_kept_of_it(self, store):
        await keep(store, reply("k1"))
        assert await find(store, "k1") == replace(reply("k1"), at=(await find(store, "k1")).at)
        assert await find(store, "k2") is None

    async def test_the_first_reply_of_a_key_stays(self, location, store):
        await keep(store, reply("k1", "first"))
        async with await PolicyStore.open(location) as other:
            await keep(other, reply("k1", "second"))
            assert (await find(other, "k1")).reply == {"text": "first"}

    async def test_f38_many_samples_at_once_keep_a_reply_each(self, store):
        replies = [reply(f"k{sample}", f"reply {sample}", sample=sample) for sample in range(30)]
        await asyncio.gather(*(keep(store, one) for one in [*replies, *replies]))
        found = await asyncio.gather(*(find(store, one.key) for one in replies))
        assert [one.reply["text"] for one in found] == [f"reply {sample}" for sample in range(30)]

    async def test_an_empty_reply_is_a_reply(self, store):
        await keep(store, reply("k", ""))
        assert (await find(store, "k")).reply == {"text": ""}

    async def test_of_another_kind_it_is_refused_and_changes_nothing(self, store):
        with pytest.raises(Exception, match="Out of range float"):
            await keep(store, reply("k", reply={"score": math.nan}))
        assert await find(store, "k") is None

    async def test_an_old_one_is_not_found_and_makes_room_for_a_new_one(self, store):
        await keep(store, reply("k", "long ago", at=days_ago(29.9)))
        assert (await find(store, "k")).reply == {"text": "long ago"}
        assert await find(store, "k", keep_days=29.8) is None
        await keep(store, reply("k", "now"), keep_days=29.8)
        assert (await find(store, "k")).reply == {"text": "now"}

    async def test_of_a_run_that_was_stopped_it_is_known_what_unfinished_samples_cost(self, store):
        await store.record_candidate("r1", candidate(1, agent="a"))
        for key, calls, changes in [
            ("finished", 9, {"sample": 1}),
            ("second turn", 3, {"sample": 2}),
            ("first turn", 1, {"sample": 2}),
            ("fallback", 2, {"sample": 2, "model": "other"}),
            ("another agent", 5, {"sample": 1, "agent": "b"}),
            ("another run", 7, {"sample": 2, "run_id": "r2"}),
        ]:
            await keep(store, reply(key, usage={"calls": calls}, **changes))
        paid = await store.calls.read_unfinished("r1")
        assert sorted(usage["calls"] for usage in paid) == [2, 3, 5]
        assert await store.calls.read_unfinished("r3") == []

    @pytest.mark.parametrize(
        ("column", "stored"),
        [
            *(("reply", stored) for stored in ("no JSON", "[" * 100_000, "[]", "{}", '{"text": 3}')),
            *(("usage", stored) for stored in ("no JSON", "7", '{"calls": "1"}', '{"calls": -1}', '{"cost": NaN}')),
        ],
        ids=lambda value: value[:20],
    )
    async def test_one_that_cannot_be_used_is_a_miss_and_makes_room_for_a_new_one(self, store, column, stored):
        for sample in (0, 1):
            await keep(store, reply(f"k{sample}", sample=sample))
        await store_text(store, f"UPDATE responses SET {column} = :stored WHERE key = 'k0'", stored)  # noqa: S608
        assert await find(store, "k0") is None
        assert await store.calls.read_unfinished("r1") == [PAID]
        await keep(store, reply("k0", "anew"))
        assert (await find(store, "k0")).reply == {"text": "anew"}

    async def test_the_table_does_not_grow_for_ever(self, store):
        for number in range(20):
            await keep(store, reply(f"k{number}", at=days_ago(50 - number)), keep_days=100)
        await keep(store, reply("last"), keep_days=40.5)
        kept = await asyncio.gather(*(find(store, f"k{number}", keep_days=100) for number in range(20)))
        assert [one is not None for one in kept] == [False] * 10 + [True] * 10
