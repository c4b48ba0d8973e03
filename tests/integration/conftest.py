"""Servers that tests start: an OpenAI-compatible one of their own, which counts what it is asked, and LangGraph's."""

import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SOLUTION = re.compile(r"Solution (\w+)\n--- \w+ ---\n.*?Answer: (\S+)\n", re.DOTALL)


class OpenAIServer(ThreadingHTTPServer):
    """Model `says-X` answers X; model `judge-X` ranks answer X first and the others as they come.

    Model `waits-X` answers X too, but while `holds` is set it only waits until its client hangs up; `waiting` and `hung_up`
    get the time of either.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Completions)
        self.requests = []
        self.holds = True
        self.waiting, self.hung_up = queue.SimpleQueue(), queue.SimpleQueue()
        self.base_url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    def calls(self, model):
        return sum(request["model"] == model for request in self.requests)

    def team(self, path, agents, judge):
        def model(name):
            return f'model = {{ provider = "openai", name = "{name}", base_url = "{self.base_url}" }}\n'

        tables = "".join(f'[[agents]]\nname = "agent{number}"\n{model(name)}' for number, name in enumerate(agents))
        path.write_text(f"{tables}[principal]\n{model(judge)}")
        return path


class _Completions(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        if request["model"].startswith("waits") and self.server.holds:
            self.wait_until_the_client_hangs_up()
            return
        text = _reply(request["model"], request["messages"][-1]["content"])
        body = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": request["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_until_the_client_hangs_up(self):
        self.server.waiting.put(time.monotonic())
        with suppress(ConnectionError):
            self.connection.recv(1)
        self.server.hung_up.put(time.monotonic())
        self.close_connection = True

    def log_message(self, *_):
        pass


def _reply(model, question):
    role, _, answer = model.partition("-")
    if role in {"says", "waits"}:
        return f"I say so.\nAnswer: {answer}"
    shown = SOLUTION.findall(question)
    return json.dumps({"order": ">".join(label for label, given in sorted(shown, key=lambda pair: pair[1] != answer))})


@contextmanager
def serving():
    with OpenAIServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def openai_server():
    with serving() as server:
        yield server


STUDIO_TEAM = """
[[agents]]
name = "careful"
model = "scripted:script.jsonl"
strategies = ["direct", "step_by_step"]

[[agents]]
name = "quick"
model = "scripted:script.jsonl"
samples = 1

[principal]
model = "scripted:script.jsonl"
"""
STUDIO_SCRIPT = (
    {"agent": "careful", "text": "Six sevens.\nAnswer: 42"},
    {"agent": "quick", "text": "A guess.\nAnswer: 41"},
    {"agent": "principal", "text": '{"order": "{label:42}>{label:41}"}'},
)


@dataclass(frozen=True)
class StudioServer:
    """A running `langgraph dev`, with what it has printed so far."""

    folder: Path
    port: int
    printed: list[str] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def db(self):
        return str(self.folder / "db")

    @property
    def text(self):
        return re.sub(r"\x1b\[\d+m", "", "".join(self.printed))

    def listen(self, output):
        for line in output:
            self.printed.append(line)
            if "Application started up" in line:
                self.started.set()
        self.started.set()


@contextmanager
def running(server, environment):
    command = [BIN / "langgraph", "dev", "--no-browser", "--no-reload", "--port", str(server.port)]
    with subprocess.Popen(
        command, cwd=server.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        listener = threading.Thread(target=server.listen, args=[process.stdout])
        listener.start()
        try:
            assert server.started.wait(60), server.text
            assert process.poll() is None, server.text
            yield server
        finally:
            process.terminate()
            listener.join()


@contextmanager
def serving_folder(folder):
    """Start the server as `make studio` does, in a folder of its own: it keeps its state in the current one."""
    (folder / "team.toml").write_text(STUDIO_TEAM)
    (folder / "script.jsonl").write_text("".join(json.dumps(row) + "\n" for row in STUDIO_SCRIPT))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = StudioServer(folder, probe.getsockname()[1])
    settings = {"ALIGNGRAPH_TEAM": "team.toml", "ALIGNGRAPH_DB": server.db, "LANGSMITH_TRACING": "false"}
    with running(server, {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1", **settings}):
        yield server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    shutil.copy(ROOT / "langgraph.json", folder)
    with serving_folder(folder) as server:
        yield server


@pytest.fixture(scope="session")
def serve_folder():
    """Return the context manager that starts a server for the langgraph.json of a folder."""
    return serving_folder


@pytest.fixture
async def client(server):
    from langgraph_sdk import get_client

    async with get_client(url=server.url) as client:
        yield client


@pytest.fixture
async def thread(client):
    return (await client.threads.create())["thread_id"]
