import asyncio
import json
import ssl
import time
from email.utils import formatdate

import httpx
import pytest
from langchain_core.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelTimeoutError,
    OutputParserException,
)

from aligngraph.calling.retrying import RetryAdvice, retry_advice
from aligngraph.errors import CallTimeoutError, StoreError
from aligngraph.models import ScriptedFailure

REQUEST = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")
NOON = 1_800_000_000.0
YES = RetryAdvice(retryable=True, fault="model")
NO = RetryAdvice(retryable=False)


class StatusError(Exception):
    """As the clients of OpenAI and Anthropic have it."""

    def __init__(self, status, body=None, headers=None):
        super().__init__(f"Error code: {status}")
        self.status_code, self.body = status, body
        self.response = httpx.Response(status, headers=headers, request=REQUEST)


def httpx_error(status, **headers):
    response = httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return httpx.HTTPStatusError("it failed", request=REQUEST, response=response)


def raised(error, *, cause):
    """Return the error as it is once it was raised from `cause`."""
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def while_handling(error, context):
    """Return the error as it is once it was raised while `context` was handled."""
    try:
        try:
            raise context
        except type(context):
            raise error  # noqa: B904 - without a cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529])
@pytest.mark.parametrize("kind", [StatusError, httpx_error])
def test_what_passes_is_worth_another_attempt(kind, status):
    assert retry_advice(kind(status)) == YES


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, "request"),
        (401, "model"),
        (402, "model"),
        (403, "model"),
        (404, "model"),
        (405, "request"),
        (407, "model"),
        (410, "model"),
        (413, "request"),
        (422, "request"),
        (451, "model"),
        (501, "model"),
        (505, "model"),
    ],
)
def test_what_lasts_is_not_and_says_whose_fault_it_is(status, fault):
    assert retry_advice(StatusError(status)) == RetryAdvice(retryable=False, fault=fault)
    assert retry_advice(httpx_error(status)) == RetryAdvice(retryable=False, fault=fault)


def test_the_status_may_stand_behind_the_clients_error():
    assert retry_advice(raised(RuntimeError("wrapped"), cause=StatusError(503))) == YES
    assert not retry_advice(raised(RuntimeError("wrapped"), cause=StatusError(400))).retryable


def test_the_outermost_status_counts():
    assert not retry_advice(raised(StatusError(400), cause=StatusError(503))).retryable


@pytest.mark.parametrize(
    "body",
    [
        {"code": "insufficient_quota"},
        {"type": "insufficient_quota", "code": None},
        {"error": {"code": "billing_hard_limit_reached"}},
        {"error": {"type": "exceeded_current_quota_error"}},
        {"error": {"message": "Your credit balance is too low to access the API."}},
        "<p>INSUFFICIENT_BALANCE</p>",
    ],
)
@pytest.mark.parametrize("status", [400, 429, 503])
def test_without_money_no_status_is_worth_it_and_the_model_rests(status, body):
    error = StatusError(status, body)
    if isinstance(body, str):
        error.args = (body,)  # clients show what is no JSON
    assert retry_advice(error) == RetryAdvice(retryable=False, fault="model")


def test_a_rate_limit_is_not_a_lack_of_money():
    error = StatusError(429, {"code": "rate_limit_exceeded", "message": "quota of 3 requests per minute exceeded"})
    assert retry_advice(error) == YES


def test_a_server_that_forbids_another_attempt_is_obeyed():
    assert not retry_advice(StatusError(503, headers={"x-should-retry": "false"})).retryable
    assert not retry_advice(StatusError(400, headers={"x-should-retry": "true"})).retryable


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": " 2.5 "}, 2.5),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After-Ms": "soon", "Retry-After": "2"}, 2.0),
        ({"Retry-After": formatdate(NOON + 90, usegmt=True), "Date": formatdate(NOON, usegmt=True)}, 90.0),
        ({"Retry-After": formatdate(NOON - 90, usegmt=True), "Date": formatdate(NOON, usegmt=True)}, 0.0),
        ({"Retry-After": formatdate(NOON + 90, usegmt=True), "Date": "yesterday"}, 30.0),
        ({"Retry-After": formatdate(NOON + 90, usegmt=True)}, 30.0),
    ],
)
def test_the_server_says_how_long_to_wait(headers, wait_s, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOON + 60)
    assert retry_advice(StatusError(429, headers=headers)) == RetryAdvice(retryable=True, wait_s=wait_s, fault="model")


@pytest.mark.parametrize(
    "value", ["", "soon", "-3", "nan", "inf", "1e3", "1_000", "0x10", "9" * 40, "Mon, 99 Foo 2026 10:00:00 GMT", "1, 2"]
)
def test_a_header_that_is_nonsense_counts_as_none(value):
    assert retry_advice(StatusError(429, headers={"Retry-After": value})) == YES


def test_headers_may_be_a_plain_mapping_on_the_error_itself():
    error = StatusError(503)
    error.response = None
    assert retry_advice(error) == YES
    bare = RuntimeError("slow down")
    bare.headers, bare.status = {"RETRY-AFTER": 7}, 429
    assert retry_advice(bare) == RetryAdvice(retryable=True, wait_s=7.0, fault="model")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(104, "reset by peer"),
        ConnectionRefusedError(111, "refused"),
        BrokenPipeError(),
        OSError(113, "no route to host"),
        TimeoutError("timed out"),
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout("slow"),
        httpx.ReadError("broken"),
        httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
        httpx.ProxyError("no way"),
        ModelConnectionError("gone"),
        ModelTimeoutError("slow"),
        ModelAPIError("overloaded"),
    ],
)
def test_a_lost_connection_is_worth_another_attempt_also_behind_another_error(error):
    assert retry_advice(error) == YES
    assert retry_advice(raised(RuntimeError("the client's"), cause=error)) == YES


class ClientError(Exception):
    """A client's own class that says nothing."""


def test_a_client_may_hide_the_lost_connection_in_the_context():
    assert retry_advice(while_handling(ClientError("it failed"), httpx.ReadError("broken"))) == YES
    hidden = while_handling(ClientError("it failed"), httpx.ReadError("broken"))
    hidden.__suppress_context__ = True
    assert retry_advice(hidden) == NO


@pytest.mark.parametrize("mistake", [AttributeError("no such"), TypeError("no"), KeyError("k"), ZeroDivisionError()])
def test_a_mistake_made_while_a_lost_connection_is_handled_stays_one(mistake):
    assert retry_advice(while_handling(mistake, ConnectionResetError())) == NO


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        RuntimeError("Event loop is closed"),
        KeyError("choices"),
        IndexError("list index out of range"),
        AssertionError(),
        ScriptedFailure("HTTP 503"),
        ModelInvalidRequestError("wrong"),
        FileNotFoundError(2, "no such file"),
        PermissionError(13, "not allowed"),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        Exception(),
    ],
)
def test_what_is_unknown_is_not_worth_it(error):
    assert retry_advice(error) == NO


def test_our_own_errors_are_final_whatever_is_behind_them():
    assert retry_advice(raised(StoreError("cannot be read"), cause=OSError(5, "input/output error"))) == NO
    assert retry_advice(raised(CallTimeoutError("no reply within 3 s"), cause=TimeoutError())) == NO


def test_a_cancellation_is_not_the_lost_connection_that_it_interrupts():
    assert retry_advice(while_handling(asyncio.CancelledError(), ConnectionResetError())) == NO


def test_a_certificate_does_not_become_valid_by_waiting():
    error = raised(httpx.ConnectError("tls"), cause=ssl.SSLCertVerificationError(1, "self-signed certificate"))
    assert retry_advice(error) == RetryAdvice(retryable=False, fault="model")
    assert retry_advice(raised(httpx.ConnectError("tls"), cause=ssl.SSLError(1, "unexpected end"))).retryable


@pytest.mark.parametrize(
    "error", [httpx.UnsupportedProtocol("htp://"), httpx.InvalidURL("no port"), httpx.TooManyRedirects("21")]
)
def test_an_address_that_cannot_be_is_not_worth_it(error):
    assert retry_advice(error) == RetryAdvice(retryable=False, fault="model")


def test_an_illegal_header_passes_for_a_lost_connection_and_is_none():
    error = httpx.LocalProtocolError("Illegal header value b'Bearer sk-1\\n'")
    assert retry_advice(raised(ClientError("Connection error."), cause=error)) == RetryAdvice(
        retryable=False, fault="model"
    )
    assert retry_advice(httpx.LocalProtocolError("Can't send data when our state is ERROR")) == YES


def test_a_body_that_is_not_json_is_worth_it_but_not_a_text_of_the_model_that_is_not():
    bad = json.JSONDecodeError("Expecting value", "", 0)
    assert retry_advice(bad) == YES
    assert retry_advice(raised(OutputParserException("no JSON"), cause=bad)) == NO


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ({"code": 502, "message": "Provider returned error"}, YES),
        ({"code": "429"}, YES),
        ({"code": 400}, RetryAdvice(retryable=False, fault="request")),
        ({"error": {"code": 503}}, YES),
        ({"code": "server_error"}, YES),
        ({"type": "overloaded_error", "message": "Overloaded"}, YES),
        ({"code": "rate_limit_exceeded"}, YES),
        ({"code": "insufficient_quota"}, RetryAdvice(retryable=False, fault="model")),
        ({"code": "content_filter", "message": "not a server_error"}, NO),
        ({"code": True}, NO),
        ({}, NO),
    ],
)
def test_an_error_within_a_reply_of_status_200_is_read(body, advice):
    """Some gateways answer 200 and say in the body that it went wrong; LangChain raises that as a ValueError."""
    assert retry_advice(ValueError(body)) == advice
    streamed = ClientError("an error occurred during streaming")
    streamed.body = body
    assert retry_advice(streamed) == advice


def test_errors_that_stand_behind_each_other_in_a_ring_are_read_once():
    one, other = ClientError("one"), ClientError("other")
    one.__cause__, other.__cause__ = other, one
    assert retry_advice(one) == NO
