"""Who ranks, and what of it counts: panels, recusal, rankers without a model, kinds of answers."""

import json

import pytest

from aligngraph import aask, open_session
from aligngraph.errors import TaskError, TeamError, UsageError
from aligngraph.persistence import Location, PolicyStore
from aligngraph.ranking.specs import ProgramSpec
from aligngraph.state import TaskOptions
from aligngraph.team import Team

TASK = "How much is 6 * 7?"


@pytest.fixture
def models(tmp_path):
    """Return a function that writes one script per model: agents' answers by sample, or an order as the principal."""

    def write(**replies):
        for name, given in replies.items():
            rows = [
                {"agent": name, "sample": i, "text": f"{name} thinks.\nAnswer: {given[i]}"} for i in range(len(given))
            ]
            verdict = ">".join(f"{{label:{answer}}}" for answer in given)
            rows.append({"agent": "principal", "text": json.dumps({"order": verdict})})
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    return write


@pytest.fixture
def team(tmp_path):
    """Return a function that writes a team of agents, each with the model of its name, and a principal's table."""

    def write(agents, principal):
        tables = [
            f'[[agents]]\nname = "{name}"\nmodel = "scripted:{name}.jsonl"\nsamples = {samples}\n'
            for name, samples in agents.items()
        ]
        path = tmp_path / "team.toml"
        path.write_text("".join([*tables, "[principal]\n", principal]))
        return path

    return write


async def test_f2_no_failure_and_no_text_without_an_answer_reaches_the_principal(models, team, db, judge, tmp_path):
    models(a=["42"], b=["41"], c=[], d=[])
    (tmp_path / "c.jsonl").write_text(json.dumps({"agent": "c", "error": "[failed: timed out]"}))
    (tmp_path / "d.jsonl").write_text(json.dumps({"agent": "d", "text": "I would rather not say."}))
    members = Team.load(team({"a": 1, "b": 1, "c": 1, "d": 1}, 'model = "scripted:a.jsonl"'))
    own = judge(lambda call: json.dumps({"order": ">".join(sorted(call.labels, key=call.labels.get, reverse=True))}))
    principal = members.principal.model_copy(update={"model": own.model})
    decision = await aask(TASK, team=members.model_copy(update={"principal": principal}), db=db)
    assert (decision.status, decision.ranking.order) == ("degraded", ["42", "41"])
    shown = "\n".join(text for call in own.model.calls for text in call.texts)
    assert "a thinks." in shown
    assert "failed" not in shown
    assert "rather not say" not in shown


async def test_f28_a_principal_that_shares_a_model_with_an_agent_is_reported(models, team, db):
    models(a=["42"], b=["41"], judge=["42", "41"])
    shared = await aask(TASK, team=team({"a": 1, "b": 1}, 'model = "scripted:a.jsonl"\nranker = "listwise"'), db=db)
    assert shared.ranking.shares_model_with == ["a"]
    apart = await aask(TASK, team=team({"a": 1, "b": 1}, 'model = "scripted:judge.jsonl"'), db=db)
    assert (apart.ranking.shares_model_with, apart.status) == ([], "ok")


async def test_f28_who_recuses_itself_does_not_see_the_candidates_of_its_own_model(models, team, db):
    models(a=["42", "7"], b=["41", "42"], c=["40", "41"], judge=["41", "40"])
    shown = team({"a": 2, "b": 2, "c": 2}, 'model = "scripted:a.jsonl"\nrecuse = true')
    (shown.parent / "a.jsonl").write_text(
        (shown.parent / "a.jsonl").read_text().replace("{label:42}>{label:7}", "{label:41}>{label:42}>{label:40}")
    )
    decision = await aask(TASK, team=shown, db=db)
    assert decision.ranking.order == ["41", "42", "40"]
    assert decision.ranking.abstained == ["7"], "only its own agent gave it"
    (call,) = decision.ranking.calls
    assert sorted(call["labels"].values()) == ["40", "41", "42"]


async def test_the_rest_of_the_panel_ranks_what_one_judge_does_not_see(models, team, db):
    models(a=["42"], b=["41"], c=["40"], judge=["42", "40", "41"])
    principal = 'model = "scripted:a.jsonl"\nrecuse = true\n[[principal.panel]]\nmodel = "scripted:judge.jsonl"\n'
    shown = team({"a": 1, "b": 1, "c": 1}, principal)
    (shown.parent / "a.jsonl").write_text(
        (shown.parent / "a.jsonl").read_text().replace('\\"{label:42}\\"', '\\"{label:40}>{label:41}\\"')
    )
    decision = await aask(TASK, team=shown, db=db)
    assert decision.ranking.order == ["42", "40", "41"]
    assert decision.ranking.abstained == []


async def test_every_judge_of_a_panel_earns_its_own_trust(models, team, db):
    models(a=["42", "42"], b=["42", "42"], c=["41"], good=["42", "41"], bad=["41", "42"])
    principal = 'model = "scripted:good.jsonl"\n[[principal.panel]]\nmodel = "scripted:bad.jsonl"\n'
    async with open_session(team({"a": 2, "b": 2, "c": 1}, principal), db=db) as session:
        first = await session.ask(TASK)
        for number in range(12):
            last = await session.ask(f"{TASK} ({number})")
    assert first.ranking.preference[0][1] == 0.5, "both start alike"
    assert last.ranking.preference[0][1] > 0.8, "the votes have agreed with one of them"
    assert last.ranking.model.count("scripted") == 2
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    judges = {key.arm: sums for key, sums in summary.arms.items() if key.arm.startswith("principal/listwise@")}
    assert sorted(sums.count for sums in judges.values()) == [13, 13]
    assert len({sums.total for sums in judges.values()}) == 2


async def test_a_panel_of_which_one_judge_fails_ranks_and_says_so(models, team, db, tmp_path):
    models(a=["42"], b=["41"], good=["42", "41"])
    (tmp_path / "down.jsonl").write_text(json.dumps({"agent": "principal", "error": "HTTP 503: overloaded"}))
    principal = 'model = "scripted:good.jsonl"\n[[principal.panel]]\nmodel = "scripted:down.jsonl"\n'
    decision = await aask(TASK, team=team({"a": 1, "b": 1}, principal), db=db)
    assert (decision.status, decision.ranking.order) == ("degraded", ["42", "41"])
    assert any("HTTP 503: overloaded" in problem for problem in decision.problems)


async def test_a_program_ranks_without_any_principal_model(models, team, db):
    models(a=["42"], b=["41"])
    members = Team.load(team({"a": 1, "b": 1}, 'model = "scripted:a.jsonl"'))
    scored = ProgramSpec(score=lambda task, answer, solution: answer == "41")
    principal = members.principal.model_copy(update={"model": None, "ranker": scored})
    decision = await aask(TASK, team=members.model_copy(update={"principal": principal}), db=db)
    assert (decision.ranking.ranker, decision.ranking.order) == ("program", ["41", "42"])
    assert decision.usage.principal.calls == 0
    assert decision.status == "ok"


async def test_equal_scores_are_reported_as_a_tie_and_the_votes_break_it(models, team, db):
    models(a=["42"], b=["41", "41"])
    members = Team.load(team({"a": 1, "b": 2}, 'model = "scripted:a.jsonl"'))
    principal = members.principal.model_copy(
        update={"model": None, "ranker": ProgramSpec(score=lambda task, answer, solution: 1.0)}
    )
    decision = await aask(TASK, team=members.model_copy(update={"principal": principal}), db=db)
    assert decision.ranking.ties == [["42", "41"]]
    assert decision.answer == "41"


@pytest.mark.parametrize(
    ("principal", "problem"),
    [
        ("ranker = 'verifier'", "ranker 'verifier' needs a model"),
        ("model = 'scripted:a.jsonl'\nranker = 'pairwize'", "unknown ranker 'pairwize'; did you mean 'pairwise'?"),
        ("model = 'scripted:a.jsonl'\nranker = { name = 'listwise', shufles = 2 }", "did you mean 'shuffles'?"),
        ("ranker = 'human'\n[[principal.panel]]\nmodel = 'scripted:a.jsonl'", "a person ranks alone"),
        (
            "model = 'scripted:a.jsonl'\n[[principal.panel]]\nmodel = 'scripted:a.jsonl'",
            "must differ in model or ranker",
        ),
        ("ranker = 'human'\nfallback = ['scripted:a.jsonl']", "fallback"),
    ],
)
def test_what_a_principal_cannot_be_is_refused(team, principal, problem):
    with pytest.raises(TeamError, match=problem.replace("?", r"\?")):
        Team.load(team({"a": 1}, principal))


async def test_the_kind_of_an_answer_is_guessed_and_said_or_given(models, team, db):
    models(a=["forty-two"], judge=["42"])
    given = team({"a": 1}, 'model = "scripted:judge.jsonl"')
    guessed = await aask("How many apples are 6 * 7 apples?", team=given, db=db)
    assert (guessed.kind, guessed.kind_guessed) == ("number", True)
    named = await aask(TASK, team=given, db=db, options=TaskOptions(kind="text"))
    assert (named.kind, named.kind_guessed, named.answer) == ("text", False, "forty-two")


async def test_f55_texts_that_look_alike_stay_two_answers(models, team, db):
    models(a=["the train leaves at 10:15 from platform 4"], b=["the train leaves at 10:15 from platform 9"], judge=[])
    decision = await aask("When?", team=team({"a": 1, "b": 1}, 'model = "scripted:judge.jsonl"'), db=db)
    assert len(decision.answers) == 2


async def test_a_judge_of_texts_makes_two_wordings_one_answer(models, team, db, tmp_path):
    models(a=["Paris"], b=["the city of Paris"], c=["Rome"], judge=["Paris", "Rome"])
    (tmp_path / "texts.jsonl").write_text(json.dumps({"agent": "same_answer", "text": '{"same": false}'}))
    shown = team({"a": 1, "b": 1, "c": 1}, 'model = "scripted:judge.jsonl"')
    texts = '[answers]\nkind = "text"\njudge = "scripted:texts.jsonl"\n'
    shown.write_text(f"{shown.read_text()}\n{texts}")
    apart = await aask("What is the capital of France?", team=shown, db=db, run_id="apart")
    assert [answer.votes for answer in apart.answers] == [1, 1, 1]
    (tmp_path / "texts.jsonl").write_text(json.dumps({"agent": "same_answer", "text": '{"same": true}'}))
    together = await aask("What is France's capital?", team=shown, db=db, run_id="together")
    assert [answer.votes for answer in together.answers] == [3]
    assert (together.ranking, together.usage.principal.calls) == (None, 6)


async def test_more_texts_than_are_compared_stay_as_they_are_and_the_run_says_so(models, team, db):
    words = ["ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine", "yew"]
    models(a=words, judge=words)
    shown = team({"a": len(words)}, 'model = "scripted:judge.jsonl"')
    shown.write_text(f'{shown.read_text()}\n[answers]\nkind = "text"\njudge = "scripted:judge.jsonl"\n')
    decision = await aask("Which tree?", team=shown, db=db)
    assert len(decision.answers) == len(words)
    assert any("9 answers, and at most 8 are compared" in problem for problem in decision.problems)


async def test_the_price_of_the_judge_of_texts_is_counted(models, team, db, tmp_path):
    models(a=["Paris"], b=["Lutetia"], judge=["Paris", "Lutetia"])
    (tmp_path / "texts.jsonl").write_text(
        json.dumps({"agent": "same_answer", "text": '{"same": true}', "usage": {"prompt": 100, "completion": 10}})
    )
    shown = team({"a": 1, "b": 1}, 'model = "scripted:judge.jsonl"\nprice = { prompt = 1, completion = 1 }')
    price = "price = { prompt = 1000000, completion = 0 }"
    shown.write_text(f'{shown.read_text()}\n[answers]\nkind = "text"\njudge = "scripted:texts.jsonl"\n{price}\n')
    decision = await aask("What is the capital of France?", team=shown, db=db)
    assert (decision.usage.principal.calls, decision.usage.principal.cost) == (2, 200.0)


async def test_f28_a_principal_that_may_see_nothing_is_replaced_by_its_stand_in(models, team, db):
    models(a=["42", "41"], second=["41", "42"])
    alone = await aask(TASK, team=team({"a": 2}, 'model = "scripted:a.jsonl"\nrecuse = true'), db=db)
    assert (alone.status, alone.ranking.order) == ("degraded", [])
    assert any("may see fewer than two of the answers" in problem for problem in alone.problems)
    principal = 'model = "scripted:a.jsonl"\nrecuse = true\nfallback = ["scripted:second.jsonl"]'
    helped = await aask(TASK, team=team({"a": 2}, principal), db=db)
    assert (helped.status, helped.ranking.order) == ("degraded", ["41", "42"])


async def test_a_reply_that_stays_unusable_is_told_even_where_another_order_was_ranked(models, team, db, tmp_path):
    models(a=["42"], b=["41"])
    rows = [{"agent": "principal", "sample": n, "text": "Hm."} for n in (0, 1)]
    rows.append({"agent": "principal", "text": '{"order": "{label:42}>{label:41}"}'})
    (tmp_path / "judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    principal = 'model = "scripted:judge.jsonl"\nranker = { name = "listwise", shuffles = 2 }'
    decision = await aask(TASK, team=team({"a": 1, "b": 1}, principal), db=db)
    assert (decision.status, decision.ranking.order) == ("degraded", ["42", "41"])
    assert any("gave no usable ranking in 1 of 2 calls" in problem for problem in decision.problems)


@pytest.mark.parametrize(
    ("principal", "problem"),
    [
        (
            'ranker = { name = "program", command = ["no-such-program", "{answer}"] }',
            "there is no command 'no-such-program'",
        ),
        ('ranker = { name = "program", command = [] }', "needs either a command or"),
        ('ranker = { name = "program", command = ["true"] }', "the command is shown no solution"),
        ('ranker = { name = "program", command = ["true", "{anwser}"] }', "unknown placeholder {anwser}"),
    ],
)
async def test_what_a_ranker_lacks_is_told_before_any_agent_is_paid(models, team, db, principal, problem):
    models(a=["42"], b=["41"])
    seen = []
    with pytest.raises(UsageError, match=problem):
        await aask(TASK, team=team({"a": 1, "b": 1}, principal), db=db, on_event=seen.append)
    assert seen == []


async def test_an_unknown_kind_of_answer_is_refused_before_any_call(models, team, db):
    models(a=["42"])
    with pytest.raises(TaskError, match=r"unknown kind of answer 'numbers'; did you mean 'number'\?"):
        await aask(TASK, team=team({"a": 1}, 'model = "scripted:a.jsonl"'), db=db, options={"kind": "numbers"})


async def test_an_answer_is_shown_in_its_plainest_spelling(models, team, db):
    models(a=["6 + 36", "42", "41"], judge=["42", "41"])
    decision = await aask(TASK, team=team({"a": 3}, 'model = "scripted:judge.jsonl"'), db=db, options={"kind": "math"})
    assert [(answer.answer, answer.votes) for answer in decision.answers] == [("42", 2), ("41", 1)]


async def test_every_call_of_a_panel_says_whose_it_was(models, team, db):
    models(a=["42"], b=["41"], good=["42", "41"], bad=["41", "42"])
    principal = 'model = "scripted:good.jsonl"\n[[principal.panel]]\nmodel = "scripted:bad.jsonl"\n'
    decision = await aask(TASK, team=team({"a": 1, "b": 1}, principal), db=db)
    assert [call["judge"].partition(".jsonl")[0].rpartition("/")[2] for call in decision.ranking.calls] == [
        "good",
        "bad",
    ]
    assert decision.ranking.ties == [["42", "41"]]
