"""intake: from a chat to one task of one run, refused before any call where no model could read it."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Literal, get_args
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from aligngraph.answers import AnswerForm, AnswerKind
from aligngraph.context import DelegationContext
from aligngraph.errors import TaskError, UsageError
from aligngraph.learning.drifting import find_drift
from aligngraph.learning.known import read_learned, share_samples, weigh_arms
from aligngraph.models import estimate_tokens, input_limit, model_label
from aligngraph.nodes.lines import unpriced_models
from aligngraph.nodes.resources import Resources
from aligngraph.nodes.settle import plan_waves
from aligngraph.nodes.spending import NOTHING
from aligngraph.persistence import PolicyStore, Run
from aligngraph.policy import allot
from aligngraph.randomness import fresh_seed, generator
from aligngraph.ranking.specs import missing_for
from aligngraph.sandbox import missing_confinement
from aligngraph.spelling import nearest
from aligngraph.state import DEFAULT_DOMAIN, DelegationState, LearnedState, RunState, StateUpdate, TaskOptions
from aligngraph.team import Team

DOMAIN_CHARS = 128


async def open_task(
    state: DelegationState, runtime: Runtime[DelegationContext], *, resources: Resources
) -> StateUpdate:
    """Return the state at the start of a task: the run, what earlier tasks taught, everything of the last task cleared."""
    team, domain = resources.team, _read_domain(state)
    task = read_task(state["messages"])
    refuse_long_task(state["messages"], team)
    await _open_models(resources)
    options = state.get("options") or TaskOptions()
    run = _name_run(state, runtime, task, team)
    asked = describe_run(run["run_id"], state["messages"], domain, options, team, seed=run["seed"])
    async with resources.open_store() as store:
        stored, sums, problems = await asyncio.gather(
            _start_run(store, asked, options), store.read_sums(domain), resources.learn_circuits(store)
        )
        learned = read_learned(sums, team.arms, team.principal.arms)
        warnings = await find_drift(store, domain, learned)
    resources.open_anew(stored.run_id)
    runtime.stream_writer({"event": "run", "run_id": stored.run_id})
    weights = weigh_arms(learned, answers=2)
    dealt = _deal(team, learned, stored.seed) if team.budget.deal == "learned" else None
    waves = plan_waves(team, learned, stored.seed, dealt) if team.budget.stop == "settled" else []
    return StateUpdate(
        domain=domain,
        options=TaskOptions(),  # they were this task's, and not the next one's of the thread
        run=RunState(**{**run, "run_id": stored.run_id, "seed": stored.seed}),
        round=1,
        dealt=dealt,
        due=waves[0] if waves else None,
        waiting=waves[1:],
        stopped=None,
        learned=learned,
        candidates=Overwrite([]),
        answers=[],
        ranking=None,
        agreed={},
        principal_usage=NOTHING,
        outcome=None,
        weights={"before": weights, "after": weights},
        evidence=None,
        warnings=warnings,
        problems=Overwrite([f"policy store: {line}" for line in (*sums.quarantined, *problems)]),
        decision=None,
    )


def _deal(team: Team, learned: LearnedState, seed: int) -> dict[str, int]:
    """Return the samples of each arm in a round, by what it has earned."""
    shares = share_samples(learned)
    drawn = allot(list(shares.values()), team.samples, rng=generator(seed, "deal")).tolist()
    return dict(zip(shares, drawn, strict=True))


def describe_run(
    run_id: str, messages: Sequence[AnyMessage], domain: str, options: TaskOptions, team: Team, *, seed: int
) -> Run:
    """Return the run as the store keeps it. What the models see makes its identity, not the task alone."""
    task, described = _last_words(messages), team.describe()
    shown = [(message.type, str(message.text)) for message in messages]
    seen = json.dumps([described, shown, options.get("kind")], sort_keys=True)
    return Run(
        run_id=run_id,
        domain=domain,
        task=task,
        task_id=_task_id(task, options),
        seed=seed,
        team=described,
        team_digest=blake2b(seen.encode(), digest_size=16).hexdigest(),
    )


def differences(asked: Run, known: Run, options: TaskOptions) -> list[str]:
    """Return in what a run asks otherwise than a known one: task, domain, seed, team. A seed not given fits any."""
    same_team = asked.team == known.team
    same_messages = asked.team_digest == known.team_digest or not same_team  # the digest cannot tell them apart then
    found = {
        "task": asked.task_id != known.task_id or not same_messages,
        "domain": asked.domain != known.domain,
        "seed": options.get("seed", known.seed) != known.seed,
        "team": not same_team,
    }
    return [name for name, differs in found.items() if differs]


def read_task(messages: Sequence[AnyMessage]) -> str:
    """Return the task's text: what a person said last.

    Raises:
        TaskError: it is empty, or something that was said is not text.
    """
    task = _last_words(messages)
    if not task:
        raise TaskError("the task is empty: give a question or an instruction in words")
    if any(not _is_text(str(message.text)) for message in messages):
        raise TaskError("the task is not text: it holds bytes or halves of characters that are not UTF-8")
    return task


def _read_domain(state: DelegationState) -> str:
    domain = state.get("domain") or DEFAULT_DOMAIN
    if len(domain) > DOMAIN_CHARS or not domain.isprintable():
        raise TaskError(f"domain {domain[:40]!r}: use up to {DOMAIN_CHARS} printable characters")
    return domain


def _last_words(messages: Sequence[AnyMessage]) -> str:
    humans = [message for message in messages if isinstance(message, HumanMessage)]
    return str(humans[-1].text).strip() if humans else ""


def _task_id(task: str, options: TaskOptions) -> str:
    return options.get("task_id") or blake2b(task.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _is_text(words: str) -> bool:
    return not any(
        "\ud800" <= character <= "\udfff" for character in words
    )  # lone surrogates: what no model can be sent


def refuse_long_task(messages: Sequence[AnyMessage], team: Team) -> None:
    """Return if every model of the team can read the chat.

    Raises:
        TaskError: it is longer than one of them reads.
    """
    characters = sum(len(str(message.text)) for message in messages)
    tokens = sum(estimate_tokens(str(message.text)) for message in messages)
    for model in (*team.proposing_models, *team.judging_models):
        if tokens > (limit := input_limit(model)):
            raise TaskError(
                f"task of {characters:,} characters (about {tokens:,} tokens) is too long: "
                f"{model_label(model)} reads at most {limit:,} tokens"
            )


async def _open_models(resources: Resources) -> None:
    """Open every model of the team, so that a missing key, price or package is told before any call is paid for."""
    team = resources.team
    if unpriced := unpriced_models(team):
        raise UsageError(f"budget.money needs the price of every model, and none is known of {', '.join(unpriced)}")
    if any(strategy.reply == "program" for agent in team.agents for strategy in agent.strategies):
        await _check_sandbox(team)
    for agent in team.agents:
        for model in (agent.model, *agent.fallback):
            await resources.open_model(model, temperature=agent.temperature, timeout_s=agent.timeout_s)
    for judge in team.principal.judges:
        if lacking := await asyncio.to_thread(missing_for, judge.ranker):
            raise UsageError(lacking)
    for model in team.judging_models:
        await resources.open_model(model, temperature=0.0, timeout_s=team.principal.timeout_s)


async def _check_sandbox(team: Team) -> None:
    lacking = None if team.allow_unsafe_programs else await asyncio.to_thread(missing_confinement)
    if lacking:
        raise UsageError(lacking)


def _name_run(state: DelegationState, runtime: Runtime[DelegationContext], task: str, team: Team) -> RunState:
    """Return the run's header. The first task of a thread has the thread's id, the next ones a number behind it."""
    execution, options = runtime.execution_info, state.get("options") or {}
    kind: AnswerKind | Literal["auto"] = options.get("kind", team.answers.kind)
    if kind not in (*get_args(AnswerKind), "auto"):
        raise TaskError(f"unknown kind of answer {kind!r}{nearest(str(kind), get_args(AnswerKind))}")
    thread_id = (execution.thread_id if execution else None) or uuid4().hex
    number = state["run"]["number"] + 1 if "run" in state else 1
    form = AnswerForm.of(task, kind)
    # A kept reply is found by its seed, too: where replies are kept, a run that names none has always the same.
    unasked = 0 if team.cache.responses else fresh_seed()
    return RunState(
        run_id=thread_id if number == 1 else f"{thread_id}.{number}",
        number=number,
        task=task,
        task_id=_task_id(task, options),
        kind=form.kind,
        guessed=form.guessed,
        seed=options.get("seed", unasked),
        started_at=time.time(),
    )


async def _start_run(store: PolicyStore, run: Run, options: TaskOptions) -> Run:
    """Return the run as it is stored.

    Who goes back in a thread and asks something else there, be it of another team or after other words, gets a run of
    its own: the next id is taken by what was asked the first time.
    """
    known = await store.read_run(run.run_id)
    if known is not None and differences(run, known, options):
        asked = repr((run.task_id, run.domain, options.get("seed"), run.team_digest))
        run = replace(run, run_id=f"{run.run_id}-{blake2b(asked.encode(), digest_size=4).hexdigest()}")
    return await store.start_run(run)
