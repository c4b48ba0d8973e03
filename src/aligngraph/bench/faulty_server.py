"""An OpenAI-compatible server on a loopback port that answers badly when it is told to, and counts what it sees.

It runs in a thread with an event loop of its own, so that a blocked client cannot block it. HTTP is spoken by hand: a
framework would mend what is to be broken.
"""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from aligngraph.bench.call_log import Call, CallLog, Outcome, Samples
from aligngraph.bench.faults import FAULT_PREFIX, Fault, FaultSchedule, error_body, fault_named
from aligngraph.bench.responses import Response, compose, needs_texts

Messages = Sequence[dict[str, Any]]
Reply = Callable[[Messages, int], str]
_REQUEST_LINE = b"POST /v1/chat/completions "
_LENGTH = re.compile(rb"^content-length: *(\d+)\r$", re.IGNORECASE | re.MULTILINE)
_SOUND = Fault()


class FaultyServer:
    """A server for the time of a `with` block, at `base_url`; `log` holds its calls.

    An error in a reply is raised where the block ends.

    Args:
        reply: the text for the messages and the number of the sample, which counts for each model and prompt the texts
            that clients got, from 0.
        replies: the same for single models.
        faults: the fault of every request of a model, by name; a model called "fault-NAME" needs none.
        schedule: draws the fault of every other request.
        slow_s: how late a slow reply begins.
        drip_s: how long it is from byte to byte of a reply that drips.
        retry_after_s: when to come back, for faults that say so.

    Raises:
        ValueError: there is no such fault.
    """

    def __init__(
        self,
        reply: Reply = lambda _messages, _sample: "I say so.\nAnswer: 42",
        *,
        replies: Mapping[str, Reply] | None = None,
        faults: Mapping[str, str] | None = None,
        schedule: FaultSchedule | None = None,
        slow_s: float = 1.0,
        drip_s: float = 0.02,
        retry_after_s: float = 1.0,
    ) -> None:
        self.log = CallLog()
        self._reply, self._replies = reply, dict(replies or {})
        self._faults, self._schedule = dict(faults or {}), schedule
        for name in self._faults.values():
            fault_named(name)
        self._slow_s, self._drip_s, self._retry_after_s = slow_s, drip_s, retry_after_s
        self._samples = Samples()
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="faulty-server")
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._failures:
            raise self._failures[0]

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connect, sock=self._socket)
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._disconnect)
        connection.add_done_callback(lambda _: writer.close())

    def _disconnect(self, connection: "asyncio.Task[None]") -> None:
        self._connections.discard(connection)
        if not connection.cancelled() and (failure := connection.exception()):
            self._failures.append(failure)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length.group(1)) if length else 0)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # looked whether somebody listens
        if not head.startswith(_REQUEST_LINE):
            missing = Response(404, "application/json", (error_body("not_found", "There is nothing here."),))
            writer.write(missing.wire)
            return
        call = self.log.begin(json.loads(body), time.monotonic())
        outcome: Outcome = "stopped"
        try:
            outcome = await self._answer_until_gone(call, reader, writer)
        finally:
            if call.outcome == "under way":
                self.log.end(call, outcome, time.monotonic())

    async def _answer_until_gone(
        self, call: Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Outcome:
        answering = asyncio.create_task(self._answer(call, writer))
        leaving = asyncio.create_task(reader.read())  # clients say no more, so it ends when they go
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or isinstance(answering.exception(), ConnectionError):
                return "disconnected"
            return answering.result()
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> Outcome:
        """Return how the call ended, which the log says before the client can know it by the last byte."""
        call.fault = self._fault_of(call)
        fault = fault_named(call.fault) if call.fault else _SOUND
        await self._be_late(fault)
        samples, kept = self._samples.take(call, needs_texts(call.parameters, fault)), False
        try:
            response = self._respond(call, fault, samples)
            wire = _reaches_client(response, fault)
            await self._send(wire[:-1], fault, writer)
            kept = response.shows_texts
        finally:
            if not kept:
                self._samples.give_back(call, samples)
        outcome = self._settle(call, fault, response)
        writer.write(wire[-1:])
        if fault.cut == "before":
            writer.transport.abort()
        return outcome

    def _fault_of(self, call: Call) -> str | None:
        if call.model in self._faults:
            return self._faults[call.model]
        if call.model.startswith(FAULT_PREFIX):
            return call.model.removeprefix(FAULT_PREFIX)
        return self._schedule.draw(call.model, call.prompt, call.number) if self._schedule else None

    async def _be_late(self, fault: Fault) -> None:
        if fault.pace == "hang":
            await asyncio.Event().wait()
        if fault.pace == "slow":
            await asyncio.sleep(self._slow_s)

    def _respond(self, call: Call, fault: Fault, samples: Sequence[int]) -> Response:
        reply = self._replies.get(call.model, self._reply)
        texts = [reply(call.parameters["messages"], sample) for sample in samples]
        return compose(call.parameters, fault, texts, retry_after_s=self._retry_after_s)

    async def _send(self, wire: bytes, fault: Fault, writer: asyncio.StreamWriter) -> None:
        step = 1 if fault.pace == "drip" else max(len(wire), 1)
        for start in range(0, len(wire), step):
            writer.write(wire[start : start + step])
            await writer.drain()
            if fault.pace == "drip":
                await asyncio.sleep(self._drip_s)
        if fault.pace == "stall":
            await asyncio.Event().wait()

    def _settle(self, call: Call, fault: Fault, response: Response) -> Outcome:
        whole = fault.cut in {None, "early"}
        if whole and response.completion:
            call.prompt_tokens = response.completion.prompt_tokens
            call.completion_tokens = response.completion.completion_tokens
        outcome: Outcome = "answered" if whole else "cut"
        self.log.end(call, outcome, time.monotonic())
        return outcome


def _reaches_client(response: Response, fault: Fault) -> bytes:
    """Return the bytes that are sent; of a body that is cut off or stalls the first half."""
    if fault.cut == "before":
        return b""
    wire = response.wire
    body_bytes = sum(len(part) for part in response.parts)
    return wire[: len(wire) - body_bytes // 2] if fault.cut == "inside" or fault.pace == "stall" else wire
