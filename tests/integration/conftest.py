"""An OpenAI-compatible server of the tests' own, which counts what it is asked."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SOLUTION = re.compile(r"Solution (\w+)\n--- \w+ ---\n.*?Answer: (\S+)\n", re.DOTALL)


class OpenAIServer(ThreadingHTTPServer):
    """Model `says-X` answers X; model `judge-X` ranks answer X first and the others as they come."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Completions)
        self.requests = []
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

    def log_message(self, *_):
        pass


def _reply(model, question):
    role, _, answer = model.partition("-")
    if role == "says":
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
