"""The estimate beside what runs of the same team really use: the worst case is an upper bound, and reached where it can be."""

import itertools
import json
import re
from typing import get_args

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from aligngraph import Agent, DelegationContext, Principal, Team, open_session
from aligngraph.errors import TaskError
from aligngraph.estimation import Estimate, estimate
from aligngraph.estimation.judging import questions_of
from aligngraph.models import estimate_tokens
from aligngraph.persistence import Candidate, Location, PolicyStore, Run
from aligngraph.ranking.specs import ProgramSpec, RewardModelSpec, Spec, models_needed

TASK = "What is 6 * 7?"
PRICE = {"prompt": 2.0, "completion": 8.0}


@pytest.fixture
async def store(db):
    async with await PolicyStore.open(Location.find(db)) as store:
        yield store


@pytest.fixture
def played(judge):
    """Return a function that makes a model which replies as the given function says, and counts tokens as an estimate does."""

    def make(reply):
        def counted(call):
            text = reply(call)
            if isinstance(text, Exception):
                return text
            prompt, completion = sum(map(estimate_tokens, call.texts)), estimate_tokens(text)
            usage = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
            return AIMessage(text, usage_metadata=usage)

        return judge(counted).model

    return make


def proposing(answers=None):
    """Return a reply that works in a few lines of its own and gives the next of the answers, by default a new one each time."""
    numbers = itertools.count(100) if answers is None else itertools.cycle(answers)

    def reply(call):
        number = next(numbers)
        way = str(number)[::-1] + "th"  # a step that states the answer would be cut off a beginning
        steps = "\n".join(f"Step {step} of the {way} way: so it seems." for step in range(6))
        return f"{steps}\nAnswer: {number}"

    return reply


def useless(call):
    """Return what no judge may say; a check is empty the first time, and says something when it is asked for again."""
    if "Check the solution" in call.texts[-1] and "step by step" in call.texts[-1]:
        return "" if call.metadata["sample"] % 2 == 0 else "All of it seems right."
    return "I would rather not say."


def team_of(
    played, judging=useless, *, ranker="listwise", strategies=("direct",), samples=(2, 2), answers=None, **more
):
    propose = proposing(answers)
    agents = [
        Agent(name=f"a{number}", model=played(propose), strategies=strategies, samples=count, price=PRICE)
        for number, count in enumerate(samples)
    ]
    return Team(agents=agents, principal=Principal(model=played(judging), ranker=ranker, price=PRICE), **more)


async def ask(team, db, task=TASK, **more):
    async with open_session(team, db=db) as session:
        return await session.ask(task, **more)


def lines_of(found):
    return {line.role: line for line in found.lines}


def assert_bounds(most, used):
    assert used.calls <= most.calls
    assert used.prompt_tokens <= most.prompt_tokens
    assert used.completion_tokens <= most.completion_tokens
    assert most.cost is None or used.cost <= most.cost


RANKERS = [
    "listwise",
    {"name": "listwise", "shuffles": 3},
    "pairwise",
    "pointwise",
    {"name": "pointwise", "scale": "ten"},
    {"name": "verifier", "checks": 2},
    {"name": "survival", "shares": [0.0, 0.3, 0.6], "completions": 2},
]


NEEDED = {
    ProgramSpec: {"command": ("check", "{answer}")},
    RewardModelSpec: {"model": "reward"},
}


@pytest.mark.parametrize("ranker", get_args(Spec), ids=lambda ranker: ranker.__name__)
def test_every_ranker_that_asks_the_principals_model_is_estimated_at_some_calls(ranker):
    spec = ranker(**NEEDED.get(ranker, {}))
    asked = sum(questions.number for questions in questions_of(spec, 3))
    assert (asked > 0) == models_needed(spec)


def test_an_unknown_ranker_is_not_estimated_at_no_calls():
    class NewSpec(BaseModel):
        name: str = "new"

    with pytest.raises(AssertionError, match="name='new'"):
        questions_of(NewSpec(), 3)


@pytest.mark.parametrize("samples", [(1, 1), (2, 3), (5, 5)], ids=str)
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
async def test_the_worst_case_of_every_ranker_is_an_upper_bound_and_its_calls_are_reached(
    played, store, db, ranker, samples
):
    team = team_of(played, ranker=ranker, samples=samples)
    found = await estimate(team, store, TASK)
    decision = await ask(team, db)
    assert len(decision.answers) == sum(samples)
    assert_bounds(found.most, decision.usage.total)
    for agent in team.agents:
        assert_bounds(lines_of(found)[agent.name].most, decision.usage.agents[agent.name])
    principal = lines_of(found)["principal"].most
    assert_bounds(principal, decision.usage.principal)
    if ranker != "pairwise" or sum(samples) <= 8:
        assert decision.usage.principal.calls == principal.calls


async def test_a_team_of_nine_may_cost_as_much_as_one_of_eight_for_their_answers_may_be_eight(played, store):
    eight, nine = [await estimate(team_of(played, ranker="pairwise", samples=(n,)), store, TASK) for n in (8, 9)]
    assert lines_of(eight)["principal"].most.calls == lines_of(nine)["principal"].most.calls == 28 * 2 * 2


async def test_judges_that_speak_openai_may_be_asked_in_two_ways_before_they_are_asked_once_more(store):
    agents = [Agent(name="a", model="scripted:s.jsonl", samples=3)]

    async def most(model):
        team = Team(agents=agents, principal=Principal(model=model, ranker="pointwise"))
        return lines_of(await estimate(team, store, TASK))["principal"].most.calls

    assert (await most("scripted:s.jsonl"), await most("openai:gpt-4.1")) == (3 * 2, 3 * 4)


@pytest.mark.parametrize("strategies", [("direct",), ("self_check",), ("least_to_most", "self_check", "step_by_step")])
async def test_what_earlier_candidates_used_makes_the_expectation_exact(played, store, db, strategies):
    team = team_of(played, strategies=strategies, samples=(3, 6), budget={"stop": "all"})
    await ask(team, db)
    found = await estimate(team, store, TASK)
    decision = await ask(team, db)
    for agent in team.agents:
        line, used = lines_of(found)[agent.name], decision.usage.agents[agent.name]
        assert (line.expected.samples, line.expected.calls) == (agent.samples, used.calls)
        assert line.expected.prompt_tokens == used.prompt_tokens
        assert line.expected.completion_tokens == used.completion_tokens
        assert line.expected.cost == pytest.approx(used.cost)
        assert f"{agent.name}: " in "\n".join(found.assumed)
    assert any(f"the mean of {agent.samples} earlier candidates" in line for line in found.assumed)


@pytest.mark.parametrize("rounds", [1, 2, 3])
async def test_several_rounds_are_within_the_worst_case(played, store, db, rounds):
    def order(call):
        labels = re.findall(r"^Solution (\w+)$", call.texts[-1], re.MULTILINE)
        return json.dumps({"order": ">".join(labels)})

    team = team_of(played, order, strategies=("self_check",), samples=(2, 3), game={"max_rounds": rounds})
    found = await estimate(team, store, TASK)
    decision = await ask(team, db)
    assert found.rounds == rounds
    assert len(decision.candidates) <= found.most.samples == 5 * rounds
    assert_bounds(found.most, decision.usage.total)
    assert (found.expected.samples == found.most.samples) == (rounds == 1)
    again = await estimate(team_of(played), store, TASK, context=DelegationContext(max_rounds=rounds))
    assert again.rounds == rounds


async def test_the_chat_its_instructions_and_examples_are_counted(played, store, db, tmp_path):
    examples = tmp_path / "examples.jsonl"
    examples.write_text(json.dumps({"task": "What is 1 + 1?", "solution": "It is two.\nAnswer: 2"}) + "\n")
    strategies = ({"name": "few_shot", "examples": str(examples)},)
    chat = [SystemMessage("Be brief. " * 20), HumanMessage("Hello."), AIMessage("Good day."), HumanMessage(TASK)]
    team = team_of(played, strategies=strategies, samples=(1,))
    found = await estimate(team, store, chat)
    decision = await ask(team, db, chat)
    assert found.expected.prompt_tokens == decision.usage.total.prompt_tokens
    assert found.expected.prompt_tokens > (await estimate(team, store, TASK)).expected.prompt_tokens


async def test_one_sample_needs_no_ranking_and_a_call_that_is_not_made_costs_nothing(store):
    agents = [Agent(name="a", model="scripted:s.jsonl", samples=1, price=PRICE)]
    found = await estimate(Team(agents=agents, principal=Principal(model="scripted:s.jsonl")), store, TASK)
    principal = lines_of(found)["principal"]
    assert principal.most.calls == principal.expected.calls == 0
    assert principal.most.cost == 0
    assert found.most.cost > 0


async def test_an_unknown_price_is_none_and_never_zero(store):
    agents = [
        Agent(name="priced", model="scripted:s.jsonl", price=PRICE),
        Agent(name="unpriced", model="scripted:s.jsonl"),
    ]
    principal = Principal(model="scripted:s.jsonl", price=PRICE)
    found = await estimate(Team(agents=agents, principal=principal), store, TASK)
    lines = lines_of(found)
    assert lines["priced"].most.cost > lines["priced"].expected.cost > 0
    assert lines["unpriced"].expected.cost is lines["unpriced"].most.cost is None
    assert found.expected.cost is found.most.cost is None
    assert any("nobody knows the price of scripted:s.jsonl" in line for line in found.assumed)


async def test_every_judge_of_a_panel_is_a_line_and_rankers_without_a_model_cost_nothing(played, store):
    panel = ({"ranker": {"name": "program", "command": ("no-such-command", "{answer}")}}, {"model": played(useless)})
    judges = Principal(model=played(useless), ranker="pointwise", panel=panel)
    team = team_of(played).model_copy(update={"principal": judges})
    found = await estimate(team, store, TASK)
    pointwise, program, listwise = found.lines[-3:]
    assert [line.method for line in (pointwise, program, listwise)] == ["pointwise", "program", "listwise"]
    assert {line.role for line in (pointwise, program, listwise)} == {"principal"}
    assert (program.most.calls, program.most.cost) == (0, 0)
    assert (pointwise.expected.calls, listwise.expected.calls) == (3, 1)
    assert found.problems == ("ranker 'program': there is no command 'no-such-command'",)


async def test_the_judge_of_texts_is_asked_about_texts_only(played, store, db):
    def differ(call):
        return '{"same": false}' if call.metadata["agent"] == "same_answer" else useless(call)

    team = team_of(played, differ, samples=(3,), answers=["alpha", "beta", "gamma"])
    team = Team(**{**dict(team), "answers": {"judge": played(differ), "price": PRICE}})
    found = await estimate(team, store, TASK, options={"kind": "text"})
    line = lines_of(found)["answers.judge"]
    assert (line.expected.calls, line.most.calls) == (6, 6)
    decision = await ask(team, db, options={"kind": "text"})
    assert_bounds(found.most, decision.usage.total)
    assert decision.usage.principal.calls == line.most.calls + lines_of(found)["principal"].most.calls
    assert "answers.judge" not in lines_of(await estimate(team, store, TASK))


class TestLengths:
    """How long replies are expected to be."""

    @pytest.fixture
    def team(self):
        limited = {"provider": "openai", "name": "m", "max_tokens": 100}
        agents = [Agent(name="free", model="openai:m"), Agent(name="short", model=limited)]
        return Team(agents=agents, principal=Principal(model="openai:m"))

    async def remember(self, store, agent, number, **usage):
        await store.start_run(Run(f"r{number}", "maths", TASK, 0))
        used = {"calls": 1, "prompt_tokens": 5, "completion_tokens": 0, "cost": None, **usage}
        candidate = Candidate(f"{agent}.{number}", agent, "direct", number, number, "1", "Answer: 1", usage=used)
        await store.record_candidate(f"r{number}", candidate)

    async def test_without_any_it_is_a_guess_within_the_model_s_limit(self, team, store):
        lines = lines_of(await estimate(team, store, TASK))
        assert (lines["free"].expected.completion_tokens, lines["free"].most.completion_tokens) == (512, 2048)
        assert (lines["short"].expected.completion_tokens, lines["short"].most.completion_tokens) == (200, 200)

    async def test_the_mean_is_that_of_a_call_and_replies_that_nobody_counted_say_nothing(self, team, store):
        await self.remember(store, "free", 0, calls=1, completion_tokens=100)
        await self.remember(store, "free", 1, calls=3, completion_tokens=500)
        await self.remember(store, "free", 2, calls=0)
        await self.remember(store, "free", 3, calls=1, completion_tokens=0)
        await self.remember(store, "other", 4, calls=1, completion_tokens=9000)
        found = await estimate(team, store, TASK)
        assert lines_of(found)["free"].expected.completion_tokens == 2 * 150
        assert "free: 150 tokens a reply, the mean of 2 earlier candidates" in found.assumed

    async def test_the_worst_case_is_never_less_than_what_is_expected(self, team, store):
        for number, agent in enumerate(("free", "short")):
            await self.remember(store, agent, number, completion_tokens=5000)
        lines = lines_of(await estimate(team, store, TASK))
        assert lines["free"].expected.completion_tokens == lines["free"].most.completion_tokens == 10_000
        assert lines["short"].most.completion_tokens == 200


class TestBudget:
    """What the worst case has to do with the caps of a budget."""

    async def test_a_cap_may_be_reached_where_the_worst_case_is_more(self, played, store):
        plain = await estimate(team_of(played), store, TASK)
        tokens = plain.most.prompt_tokens + plain.most.completion_tokens
        enough = {"calls": plain.most.calls, "tokens": tokens, "money": plain.most.cost, "seconds": 9, "samples": 4}
        found = await estimate(team_of(played, budget=enough), store, TASK)
        assert found.most == plain.most
        assert {cap.name: cap.may_be_reached for cap in found.caps} == {
            "samples": False, "calls": False, "tokens": False, "money": False, "seconds": None
        }  # fmt: skip
        short = {"calls": plain.most.calls - 1, "tokens": tokens - 1, "money": plain.most.cost * 0.99}
        found = await estimate(team_of(played, budget=short), store, TASK)
        assert all(cap.may_be_reached for cap in found.caps)
        assert len(found.caps) == 3

    async def test_a_budget_that_cannot_be_reached_stops_no_run(self, played, store, db):
        plain = await estimate(team_of(played), store, TASK)
        tokens = plain.most.prompt_tokens + plain.most.completion_tokens
        caps = {"calls": plain.most.calls, "tokens": tokens, "money": plain.most.cost}
        decision = await ask(team_of(played, budget=caps), db)
        assert not any("budget" in problem for problem in decision.problems)

    async def test_samples_are_counted_as_their_cap_allows_them(self, played, store, db):
        team = team_of(played, samples=(4, 4), budget={"samples": 3}, game={"max_rounds": 2})
        found = await estimate(team, store, TASK)
        assert (found.most.samples, found.expected.samples) == (6, 5)
        [cap] = found.caps
        assert (cap.limit, cap.most, cap.may_be_reached) == (3, 8, True)
        assert_bounds(found.most, (await ask(team, db)).usage.total)

    async def test_money_without_a_price_is_a_problem_and_its_cap_unknown(self, store):
        agents = [Agent(name="a", model="scripted:s.jsonl")]
        team = Team(agents=agents, principal=Principal(model="scripted:s.jsonl"), budget={"money": 1})
        found = await estimate(team, store, TASK)
        assert found.problems == ("budget.money needs the price of every model, and none is known of scripted:s.jsonl",)
        assert [cap.may_be_reached for cap in found.caps] == [None]

    @pytest.mark.parametrize("settings", [{"budget": {"stop": "settled"}}, {"cache": {"responses": True}}], ids=str)
    async def test_early_stop_and_kept_replies_make_the_expectation_an_upper_bound(self, played, store, db, settings):
        team = team_of(played, samples=(6, 6), answers=[42], **settings)
        found = await estimate(team, store, TASK)
        assert found.at_most
        assert next(iter(settings)) in "\n".join(found.assumed)
        assert_bounds(found.most, (await ask(team, db)).usage.total)
        assert not (await estimate(team_of(played), store, TASK)).at_most


async def test_nobody_is_asked_nothing_is_opened_and_no_run_is_written(played, store, db, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("an estimate opened a model")

    monkeypatch.setattr("aligngraph.models.embedded.serve", refuse)
    asked = []
    model = played(lambda call: asked.append(call) or "Answer: 1")
    agents = [
        Agent(name="played", model=model),
        Agent(name="script", model="scripted:there-is-no-such-script.jsonl"),
        Agent(name="here", model="embedded:smollm2-135m"),
        Agent(name="keyless", model="openai:gpt-4.1-mini"),
        Agent(name="not_installed", model="cohere:command-r"),
    ]
    team = Team(agents=agents, principal=Principal(model="openai:gpt-4.1", ranker="verifier"))
    found = await estimate(team, store, TASK)
    assert found.most.calls > found.expected.calls > 5
    assert asked == []
    assert await store.calls.read_usage([agent.name for agent in agents]) == {}
    assert await store.summary() == []


async def test_it_is_plain_json(played, store):
    found = await estimate(team_of(played, budget={"calls": 3}), store, TASK)
    assert Estimate.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(("task", "finding"), [("  ", "the task is empty"), ("x" * 200_000, "is too long")])
async def test_a_task_that_could_not_be_asked_is_refused(played, store, task, finding):
    with pytest.raises(TaskError, match=finding):
        await estimate(team_of(played), store, task)


async def test_an_own_agent_counts_as_one_call_a_turn_and_the_estimate_says_so(store):
    def look_up(messages):
        return "Answer: 42"

    own = Agent.from_runnable(look_up, name="own", samples=2)
    found = await estimate(Team(agents=[own], principal=Principal(model="scripted:s.jsonl")), store, TASK)
    line = lines_of(found)["own"]
    assert (line.most.samples, line.most.calls, line.most.cost) == (2, 2, None)
    assert any(said.startswith("own: ") and "whatever it calls itself" in said for said in found.assumed)
