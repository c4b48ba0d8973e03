"""Whether a failed call is worth making again, and making it again.

Errors are known by what they carry and by the names of their classes, so that no provider's package is imported: an HTTP
status, headers, the transport's error behind a client's own.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, Literal, Protocol, TypeVar, cast

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from aligngraph.calling.settings import RetrySettings
from aligngraph.errors import AlignGraphError

Fault = Literal["model", "request", "unknown"]
Value = TypeVar("Value")

_PASSING = frozenset({408, 409, 425, 429})  # and all of the server's own but the next
_LASTING = frozenset({501, 505})
_AGAINST_THE_REQUEST = frozenset({400, 405, 406, 411, 413, 414, 415, 416, 422, 431})
_MONEY_IS_GONE = re.compile(
    r"insufficient_(quota|balance|funds|credits?)|billing_(hard_limit_reached|not_active)|exceeded_current_quota"
    r"|credit_limit_exceeded|credit balance is too low|payment_required|account_deactivated"
)
_PASSING_CODES = re.compile(r"server_error|internal_error|overloaded|unavailable|rate_limit|api_error|timeout")
_LOST_CONNECTIONS = frozenset(
    {"APIConnectionError", "APIResponseValidationError", "ClientConnectionError", "ClientPayloadError"}
    | {"NetworkError", "ProtocolError", "ProxyError", "TimeoutException", "TransportError"}
)
_LASTING_TRANSPORT = frozenset({"InvalidURL", "SSLCertVerificationError", "TooManyRedirects", "UnsupportedProtocol"})
_ILLEGAL_HEADER = "Illegal header value"  # a line break in a key; clients call it a connection error
_OF_FILES = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
# LangChain's words for a reply in which there is no completion; the errors that say them are of built-in classes.
_NO_COMPLETION = (
    "Unexpected response type from OpenAI-compatible endpoint",
    "Received response with null value for 'choices'",
    "Response missing 'choices' key",
    "No generation chunks were returned",
)
_NUMBER = re.compile(r"\d{1,12}(\.\d*)?", re.ASCII)


@dataclass(frozen=True)
class RetryAdvice:
    """What an error says about making the call again.

    Attributes:
        retryable: whether the same call may succeed in a while.
        wait_s: how long the server asks to wait, >= 0; None where it does not.
        fault: whether the error speaks against the model, its key and its server, or against this one request.
    """

    retryable: bool
    wait_s: float | None = None
    fault: Fault = "unknown"


class Uniform(Protocol):
    """What `random.Random` and numpy's Generator have in common."""

    def uniform(self, low: float, high: float, /) -> float:
        """Return a number in [low, high)."""
        ...


def retry_advice(error: BaseException) -> RetryAdvice:
    """Return whether the call that raised `error` is worth making again, and how long the server asks to wait.

    Worth it are 408, 409, 425, 429 and 5xx but 501 and 505, lost connections, time limits of the client or its
    transport, and replies that are not JSON or hold no completion. No other 4xx is, nor a 429 of an account without
    money, nor our own time limit (CallTimeoutError), nor any error unknown here: a mistake in a program stays one.
    """
    if not isinstance(error, Exception) or isinstance(error, AlignGraphError):
        return RetryAdvice(retryable=False)
    chain = tuple(_chain(error))
    status = next((found for link in chain if (found := _status(link)) is not None), None)
    verdict = _judge_transport(chain) if status is None else _judge_status(status, chain)
    return RetryAdvice(verdict.retryable, next(_waits(chain), None), verdict.fault)


def _judge_status(status: int, chain: tuple[BaseException, ...]) -> RetryAdvice:
    passing = status in _PASSING or (status >= 500 and status not in _LASTING)  # noqa: PLR2004 - the server's own
    forbidden = any(headers.get("x-should-retry") == "false" for headers in map(_headers, chain))
    if _is_out_of_money(chain[0]):
        return RetryAdvice(retryable=False, fault="model")
    return RetryAdvice(passing and not forbidden, fault="request" if status in _AGAINST_THE_REQUEST else "model")


def _judge_transport(chain: tuple[BaseException, ...]) -> RetryAdvice:
    """Return the advice for an error without an HTTP status."""
    error, names = chain[0], {base.__name__ for link in chain for base in type(link).__mro__}
    lasting = names & _LASTING_TRANSPORT or any(_ILLEGAL_HEADER in str(link) for link in chain)
    if lasting or (_body(error) and _is_out_of_money(error)):
        return RetryAdvice(retryable=False, fault="model")
    passing = names & _LOST_CONNECTIONS or any(_is_lost_connection(link) for link in chain)
    if passing or _says_it_passes(chain) or _holds_no_completion(error):
        return RetryAdvice(retryable=True, fault="model")
    return RetryAdvice(retryable=False)


def _says_it_passes(chain: tuple[BaseException, ...]) -> bool:
    """Return whether LangChain's class for the error, or what the server calls it amid a stream, says so."""
    body = _body(chain[0])
    by_name = _PASSING_CODES.search(f"{body.get('code')} {body.get('type')}".lower())
    return by_name is not None or any(getattr(link, "is_retryable", None) is True for link in chain)


def _is_lost_connection(error: BaseException) -> bool:
    return isinstance(error, OSError) and not isinstance(error, _OF_FILES)


def _holds_no_completion(error: BaseException) -> bool:
    # Behind another error bad JSON may be what the model wrote, and the reply as such in order.
    return isinstance(error, JSONDecodeError) or any(words in str(error) for words in _NO_COMPLETION)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those behind it.

    A built-in error that was raised while another was handled, and not from it, is a mistake in the handling.
    """
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        is_mistake = type(link).__module__ == "builtins" and not isinstance(link, OSError)
        link = link.__cause__ or (None if link.__suppress_context__ or is_mistake else link.__context__)


def _status(error: BaseException) -> int | None:
    """Return the HTTP status from 400 on that an error carries, or the one in its body."""
    response, body = getattr(error, "response", None), _body(error)
    found = [getattr(source, name, None) for source in (error, response) for name in ("status_code", "status", "code")]
    found += [body.get(name) for name in ("status", "code")]
    return next((int(str(value)) for value in found if _is_status(value)), None)


def _is_status(value: object) -> bool:
    return isinstance(value, int | str) and re.fullmatch(r"[45]\d\d", str(value), re.ASCII) is not None


def _body(error: BaseException) -> Mapping[str, Any]:
    """Return what the server said about the error; LangChain raises a plain ValueError with it."""
    body = getattr(error, "body", None) or (error.args[0] if error.args else None)
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    return inner if isinstance(inner, Mapping) else body


def _is_out_of_money(error: BaseException) -> bool:
    return _MONEY_IS_GONE.search(f"{error} {_body(error)}".lower()) is not None


def _headers(error: BaseException) -> dict[str, str]:
    headers = getattr(getattr(error, "response", error), "headers", None)
    return {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {}


def _waits(chain: tuple[BaseException, ...]) -> Iterator[float]:
    for headers in map(_headers, chain):
        waits = (_number(headers.get("retry-after-ms"), 1000), _number(headers.get("retry-after"), 1), _date(headers))
        yield from (wait_s for wait_s in waits if wait_s is not None)


def _number(header: str | None, per_second: int) -> float | None:
    return float(header) / per_second if header and _NUMBER.fullmatch(header.strip()) else None


def _date(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the date, from the server's own clock where it tells it: ours may be wrong."""
    until, now = (_seconds(headers.get(name)) for name in ("retry-after", "date"))
    return None if until is None else max(0.0, until - (time.time() if now is None else now))


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError, OSError):
        return None


@dataclass(frozen=True)
class _Rules:
    settings: RetrySettings
    rng: Uniform
    ends_at: float | None
    clock: Callable[[], float] = field(repr=False)

    def wait_s(self, state: RetryCallState) -> float:
        """Return what the server asks for, else a number drawn below a bound that doubles with every attempt."""
        asked_s = retry_advice(_error_of(state)).wait_s
        if asked_s:
            return asked_s
        bound_s = self.settings.first_wait_s * 2 ** (state.attempt_number - 1)
        return self.rng.uniform(0.0, min(bound_s, self.settings.longest_wait_s))

    def gives_up(self, state: RetryCallState) -> bool:
        """Return whether the last error is final, and note on it why."""
        reason = self._why(state.attempt_number, state.upcoming_sleep)
        if reason:
            _error_of(state).add_note(reason)
        return reason is not None

    def _why(self, attempt: int, wait_s: float) -> str | None:
        if attempt >= self.settings.attempts:
            return f"given up after attempt {attempt} of {self.settings.attempts}"
        if wait_s > self.settings.longest_wait_s:
            return f"not repeated: the server asks to wait {wait_s:g} s, longest_wait_s is {self.settings.longest_wait_s:g}"
        if self.ends_at is not None and self.clock() + wait_s >= self.ends_at:
            return f"not repeated: the time would be over after a wait of {wait_s:.3g} s"
        return None


async def with_retries(
    call: Callable[[], Awaitable[Value]],
    settings: RetrySettings,
    rng: Uniform,
    *,
    deadline_s: float | None = None,
    on_retry: Callable[[BaseException, float], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Value:
    """Return what `call` returns, made again after errors that pass; else raise its last error as it was.

    A note on the error says why the call was not made again.

    Args:
        call: begins one attempt.
        settings: how often, and how long to wait in between.
        rng: draws the waits that no server asks for: full jitter, so that many callers do not come back together.
        deadline_s: seconds from now, after which no attempt begins; None for any time.
        on_retry: is told the error and the wait in seconds before each new attempt.
        sleep: waits for so many seconds.
        clock: monotonic seconds.
    """
    rules = _Rules(settings, rng, None if deadline_s is None else clock() + deadline_s, clock)

    def tell(state: RetryCallState) -> None:
        if on_retry:
            on_retry(_error_of(state), state.upcoming_sleep)

    async def attempt() -> Value:
        return await call()

    retrying = AsyncRetrying(
        sleep=sleep,
        wait=rules.wait_s,
        stop=rules.gives_up,
        retry=retry_if_exception(lambda error: retry_advice(error).retryable),
        before_sleep=tell,
        reraise=True,
    )
    value: Value = await retrying(attempt)
    return value


def _error_of(state: RetryCallState) -> BaseException:
    """Return the error of the last attempt; after a success nobody asks."""
    return cast("BaseException", state.outcome and state.outcome.exception())
