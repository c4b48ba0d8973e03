import json
from collections import Counter

import pytest

from aligngraph.bench.call_log import CallLog, Samples
from aligngraph.bench.completions import Completion, as_json, count_prompt_tokens, events_of
from aligngraph.bench.faults import FAULTS, Fault, FaultSchedule, error_body, fault_named
from aligngraph.bench.responses import compose, needs_texts

ASKED = {"model": "m", "messages": [{"role": "user", "content": "What is it?"}]}
STREAMED = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
SHARES = {"503": 0.3, "hang": 0.2}


def body_of(response):
    return json.loads(b"".join(response.parts))


def drawn(schedule, tries=2000):
    return Counter(schedule.draw("m", "prompt", number) for number in range(tries))


def test_a_schedule_keeps_to_its_shares():
    faults = drawn(FaultSchedule(1, SHARES))
    assert faults["503"] == pytest.approx(600, abs=80)
    assert faults["hang"] == pytest.approx(400, abs=70)
    assert faults[None] == pytest.approx(1000, abs=90)


def test_a_draw_depends_on_the_seed_and_on_the_request_alone():
    schedule = FaultSchedule(1, SHARES)
    tries = [(model, prompt, number) for model in "ab" for prompt in "pq" for number in range(50)]
    once = {one: schedule.draw(*one) for one in tries}
    assert once == {one: schedule.draw(*one) for one in reversed(tries)}
    assert once != {one: FaultSchedule(2, SHARES).draw(*one) for one in tries}
    assert [once["a", "p", n] for n in range(50)] != [once["b", "p", n] for n in range(50)]
    assert [once["a", "p", n] for n in range(50)] != [once["a", "q", n] for n in range(50)]


def test_a_schedule_of_nothing_is_harmless_and_one_of_everything_is_not():
    assert set(drawn(FaultSchedule(0), 50)) == {None}
    assert None not in drawn(FaultSchedule(0, dict.fromkeys(list(FAULTS)[:10], 0.1)), 500)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"503": 0.8, "500": 0.3}, "are 1.1 together"),
        ({"503": -0.1}, "has the share -0.1"),
        ({"503": float("nan")}, "has the share nan"),
        ({"418": 0.1}, "there is no fault '418'; known are"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(shares, message):
    with pytest.raises(ValueError, match=message):
        FaultSchedule(0, shares)


def test_every_fault_does_something():
    assert [name for name, fault in FAULTS.items() if fault == Fault()] == []
    assert fault_named("hang").pace == "hang"


def test_an_error_looks_like_openais():
    assert json.loads(error_body("server_error", "It broke.")) == {
        "error": {"message": "It broke.", "type": "server_error", "code": "server_error", "param": None}
    }


def test_a_completion_counts_all_its_choices():
    completion = Completion("m", ("one two", "three"), 5)
    body = completion.as_body()
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    assert [choice["message"]["content"] for choice in body["choices"]] == ["one two", "three"]
    assert count_prompt_tokens([*ASKED["messages"], {"content": None}, {"content": [{"type": "text"}]}]) == 3


@pytest.mark.parametrize("text", ["I say so.\nAnswer: 42", "two  blanks ", "", "\ud83d alone", "größer"])
@pytest.mark.parametrize("with_usage", [True, False])
def test_a_stream_says_what_the_whole_says(text, with_usage):
    body = Completion("m", (text, "other"), 2).as_body()
    pieces = [json.loads(event.removeprefix(b"data: ")) for event in events_of(body, with_usage=with_usage)]
    said = ["", ""]
    for piece in pieces:
        for choice in piece["choices"]:
            said[choice["index"]] += choice["delta"].get("content", "")
    assert said == [text, "other"]
    assert [piece["usage"] for piece in pieces if "usage" in piece] == ([body["usage"]] if with_usage else [])


def test_a_lone_surrogate_goes_over_the_line_as_ascii():
    assert as_json({"text": "\ud83d"}) == b'{"text": "\\ud83d"}'


def test_a_sound_response_holds_its_texts():
    response = compose({**ASKED, "n": 2}, Fault(), ("one two", "three"), retry_after_s=1)
    assert response.shows_texts
    assert (response.completion.prompt_tokens, response.completion.completion_tokens) == (3, 3)
    head, _, body = response.wire.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body == b"".join(response.parts)


def test_a_stream_is_sent_in_chunks_and_ended():
    response = compose(STREAMED, Fault(), ("one two",), retry_after_s=1)
    head, _, body = response.wire.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    assert body.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert b'"usage"' in body
    assert b'"usage"' not in compose({**ASKED, "stream": True}, Fault(), ("one",), retry_after_s=1).wire


@pytest.mark.parametrize(
    ("fault", "header"),
    [
        ("429-seconds", b"Retry-After: 2.5\r\n"),
        ("429-milliseconds", b"Retry-After-Ms: 2500\r\n"),
        ("429-date", b"GMT\r\n"),
        ("429-nonsense", b"Retry-After: soon\r\n"),
    ],
)
def test_a_refusal_says_when_to_come_back(fault, header):
    assert header in compose(ASKED, FAULTS[fault], (), retry_after_s=2.5).wire
    assert b"Retry-After" not in compose(ASKED, FAULTS["429"], (), retry_after_s=2.5).wire


@pytest.mark.parametrize(
    ("fault", "parameters", "texts"),
    [
        (Fault(), ASKED, 1),
        (Fault(), {**ASKED, "n": 4}, 4),
        (Fault(), {**ASKED, "n": None}, 1),
        (FAULTS["ignores-n"], {**ASKED, "n": 4}, 1),
        (FAULTS["503"], {**ASKED, "n": 4}, 0),
        (FAULTS["strict"], ASKED, 1),
        (FAULTS["strict"], {**ASKED, "n": 4}, 0),
    ],
)
def test_only_a_response_with_texts_needs_some(fault, parameters, texts):
    assert needs_texts(parameters, fault) == texts


def test_a_strict_server_names_what_it_does_not_know():
    response = compose({**ASKED, "seed": 1, "n": 2}, FAULTS["strict"], (), retry_after_s=1)
    assert response.status == 400
    assert body_of(response)["error"]["message"] == "Unrecognized request argument supplied: n, seed"


@pytest.mark.parametrize(
    ("fault", "shows"),
    [
        ("usage-absent", True),
        ("ignores-n", True),
        ("slow", True),
        ("empty-content", False),
        ("no-choices", False),
        ("cut-inside", False),
        ("cut-early", False),
    ],
)
def test_a_sample_counts_as_given_only_where_its_text_arrives(fault, shows):
    assert compose(ASKED, FAULTS[fault], ("one two",), retry_after_s=1).shows_texts is shows


def test_a_body_that_ends_early_is_shorter_and_says_so():
    whole = compose(ASKED, Fault(), ("one two",), retry_after_s=1)
    half = compose(ASKED, FAULTS["cut-early"], ("one two",), retry_after_s=1)
    assert whole.parts[0].startswith(half.parts[0])
    assert f"Content-Length: {len(half.parts[0])}\r\n".encode() in half.wire


def test_the_lowest_free_samples_are_given_out_first():
    log, samples = CallLog(), Samples()
    one, other = log.begin(ASKED, 0.0), log.begin({**ASKED, "model": "other"}, 0.0)
    assert samples.take(one, 3) == (0, 1, 2)
    assert samples.take(other, 2) == (0, 1)
    samples.give_back(one, (0, 2))
    assert samples.take(one, 3) == (0, 2, 3)
    assert samples.take(one, 0) == ()


def test_the_log_counts_by_model_and_prompt():
    log = CallLog()
    calls = [log.begin({**ASKED, "model": model}, 1.0) for model in ("a", "b", "a")]
    assert [call.number for call in calls] == [0, 0, 1]
    assert log.calls_of("a") == [calls[0], calls[2]]
    assert log.calls_of(prompt="What is it?") == calls
    assert log.calls_of("b", "another") == []
    log.end(calls[0], "disconnected", 2.0)
    assert (log.disconnects, calls[0].ended_s, calls[1].outcome) == (1, 2.0, "under way")
    assert log.wait_until(lambda: log.disconnects == 1, 0)
    assert not log.wait_until(lambda: log.disconnects == 2, 0)


def test_a_prompt_of_parts_has_a_text_too():
    parts = [{"type": "text", "text": "hi"}]
    assert CallLog().begin({"model": "m", "messages": [{"content": parts}]}, 0.0).prompt == str(parts)
    assert CallLog().begin({"model": "m", "messages": [{"content": None}]}, 0.0).prompt == ""
