"""What became of every request: used, made again or lost, and which of its tokens were for nothing."""

from collections import Counter

import pytest

from aligngraph.bench.call_log import Call
from aligngraph.bench.faulty_team import JUDGE, Sum
from aligngraph.bench.requests_made import UNREADABLE, UNTOLD, Work, ends_by_fault, tokens_of, works_of
from aligngraph.decision import Candidate, Decision, Ranking, Usage, UsageReport, Weights
from aligngraph.randomness import sampling_seed

TASK = Sum(7, 123, 456)
SEED = 5


def usage(calls=1, prompt=10, completion=4):
    return Usage(calls=calls, prompt_tokens=prompt, completion_tokens=completion, cost=None)


def request(fault=None, *, tokens=(10, 4), model="ada", sample=0, outcome="answered"):
    seed = {"seed": sampling_seed(SEED, 1, model, sample)} if model != JUDGE else {}
    parameters = {"messages": [{"role": "user", "content": TASK.text}], **seed}
    prompt, completion = tokens
    return Call(model, TASK.text, 0, parameters, 0.0, fault, 1.0, outcome, prompt, completion)


def candidate(sample, answer="579", used=None):
    return Candidate(
        id=f"ada.{sample}",
        agent="ada",
        strategy="direct",
        sample=sample,
        round=1,
        answer=answer,
        text=f"Answer: {answer}" if answer else "",
        error=None if answer else "503",
        usage=used or usage(),
    )


def decision(candidates, verdicts=()):
    calls = [{"outcome": outcome} for outcome in verdicts]
    ranking = Ranking(
        ranker="listwise",
        model="judge",
        order=[],
        ties=[],
        shares_model_with=[],
        preference=[],
        abstained=[],
        calls=calls,
    )
    return Decision(
        run_id="r",
        status="ok",
        problems=[],
        answer="579",
        text="",
        domain="general",
        kind="number",
        kind_guessed=False,
        seed=SEED,
        candidates=candidates,
        answers=[],
        ranking=ranking if calls else None,
        game=None,
        alternatives=None,
        weights=Weights(before={}, after={}),
        usage=UsageReport(agents={}, principal=usage(calls=len(calls)), total=usage()),
        seconds=0.1,
    )


def ends_of(work):
    return [end for _, end in work.ends]


def test_requests_of_one_sample_belong_together_and_the_last_is_used():
    made = [request("503", tokens=(0, 0)), request(sample=1), request()]
    works = works_of(made, {7: decision([candidate(0), candidate(1)])})
    assert [ends_of(work) for work in works] == [["repeated", "used"], ["used"]]


def test_a_sample_without_an_answer_is_lost_with_its_last_request():
    made = [request("cut-early"), request("400", tokens=(0, 0))]
    (work,) = works_of(made, {7: decision([candidate(0, answer=None)])})
    assert ends_of(work) == ["repeated", "lost"]
    assert (work.tokens_wasted, work.tokens_unread) == (14, 14)


@pytest.mark.parametrize(
    ("verdicts", "end"),
    [
        (["ranked"], "used"),
        (["abstained"], "used"),
        (["unusable", "ranked"], "used"),
        (["unusable", "unusable"], "lost"),
        (["failed"], "lost"),
    ],
)
def test_a_ranking_counts_by_its_last_verdict(verdicts, end):
    (work,) = works_of([request(model=JUDGE)], {7: decision([candidate(0)], verdicts)})
    assert ends_of(work) == [end]


def test_what_was_asked_for_a_task_without_an_audit_is_lost():
    (work,) = works_of([request()], {})
    assert ends_of(work) == ["lost"]
    assert (work.tokens_wasted, work.is_miscounted) == (14, False)


def test_a_request_that_nobody_can_have_made_is_an_error():
    with pytest.raises(LookupError, match="no candidate of r was drawn from ada"):
        works_of([request(sample=3)], {7: decision([candidate(0)])})


def test_faults_are_counted_by_how_their_requests_ended():
    works = [
        Work((request("503"), request("slow")), kept=True, usage=usage()),
        Work((request("503"),), kept=False, usage=usage()),
        Work((request(),), kept=True, usage=usage()),
    ]
    assert ends_by_fault(works) == {"503": Counter(repeated=1, lost=1), "slow": Counter(used=1)}
    assert list(ends_by_fault(reversed(works))) == ["503", "slow"]


def test_tokens_are_wasted_wherever_the_reply_is_not_used():
    work = Work((request("no-choices", tokens=(10, 4)), request(tokens=(10, 5))), kept=True, usage=usage(calls=2))
    assert (work.tokens_wasted, work.tokens_unread) == (14, 14)
    assert tokens_of(work.requests[1]) == 15


@pytest.mark.parametrize(
    ("requests", "counted", "wrong"),
    [
        ([request()], usage(), False),
        ([request()], usage(completion=5), True),
        ([request()], usage(calls=2), True),
        ([request("503", tokens=(0, 0)), request()], usage(calls=2), False),
        ([request("503", tokens=(0, 0)), request()], usage(calls=1), True),
        *[([request(fault), request()], usage(calls=2), False) for fault in sorted(UNREADABLE)],
        *[([request(fault)], usage(prompt=99), False) for fault in sorted(UNTOLD)],
    ],
)
def test_what_we_count_is_what_the_server_told(requests, counted, wrong):
    assert Work(tuple(requests), kept=True, usage=counted).is_miscounted is wrong
