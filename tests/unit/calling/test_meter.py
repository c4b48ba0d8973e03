"""The meter sees every call below it, however it is made and however it ends, once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda, RunnableParallel

from aligngraph import AlignChatModel
from aligngraph.calling.budget import Caps, Ledger
from aligngraph.calling.meter import COMPLETION_TOKENS, Meter, metered
from aligngraph.calling.spending import NOTHING, Spending
from aligngraph.errors import BudgetSpentError, CallTimeoutError
from aligngraph.models import estimate_tokens

PROMPT = "How many are left?"
REPLY = "seven words that are a whole reply"
ONE = Spending(1, 10, 5, cost=1.5)


def usage(prompt=10, completion=5, cached=0):
    details = {"input_token_details": {"cache_read": cached}} if cached else {}
    return {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion, **details}


class MeteredModel(BaseChatModel):
    """Replies with `usage_metadata`, `choices` times; `act` is awaited first, and may raise or wait."""

    usage_metadata: dict[str, Any] | None = usage()
    choices: int = 1
    max_tokens: int | None = 100
    n: int | None = None
    act: Callable[[], Any] | None = None
    asked: list[str] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self):
        return "metered"

    @property
    def _identifying_params(self):
        return {"max_tokens": self.max_tokens, "n": self.n}

    def _result(self, messages):
        self.asked.append(str(messages[-1].text))
        message = AIMessage("seven words that are a whole reply", usage_metadata=self.usage_metadata)
        return ChatResult(generations=[ChatGeneration(message=message)] * self.choices)

    def _generate(self, messages, stop=None, run_manager=None, **settings):
        if self.act:
            self.act()
        return self._result(messages)

    async def _agenerate(self, messages, stop=None, run_manager=None, **settings):
        if self.act and (waited := self.act()):
            await waited
        return self._result(messages)


class StreamingModel(MeteredModel):
    """Replies word by word; usage comes with the last one."""

    def _stream(self, messages, stop=None, run_manager=None, **settings) -> Iterator[ChatGenerationChunk]:
        self.asked.append(str(messages[-1].text))
        for word in ("one ", "two ", "three"):
            yield ChatGenerationChunk(message=AIMessageChunk(word))
        yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=self.usage_metadata))


def price(counts):
    return (counts.prompt - counts.cached + counts.completion) / 10


@pytest.fixture
def meter():
    return Meter(Ledger(Caps()), price)


async def ask(meter, call):
    with metered(meter):
        return await call


def outstanding(meter):
    return meter.ledger._reserved


class TestHowACallEnds:
    async def test_with_a_reply_the_provider_s_own_count_is_taken(self, meter):
        await ask(meter, MeteredModel().ainvoke(PROMPT))
        assert meter.spent == meter.ledger.spent == ONE
        assert outstanding(meter) == {}

    async def test_cached_tokens_are_kept(self, meter):
        await ask(meter, MeteredModel(usage_metadata=usage(cached=8)).ainvoke(PROMPT))
        assert meter.spent == Spending(1, 10, 5, cached=8, cost=0.7)

    @pytest.mark.parametrize("counted", [None, usage(-5, 7), usage(10**30, 1)])
    async def test_without_a_count_that_can_be_it_is_estimated_and_marked_so(self, meter, counted):
        model = MeteredModel.model_construct(usage_metadata=None, max_tokens=100, asked=[])
        model.usage_metadata = counted
        await ask(meter, model.ainvoke(PROMPT))
        spent = meter.spent
        assert (spent.calls, spent.estimated) == (1, 1)
        assert spent.prompt == estimate_tokens(PROMPT)
        assert spent.completion == estimate_tokens(REPLY)
        assert spent == meter.ledger.spent

    async def test_with_an_error_it_is_a_call_without_tokens(self, meter):
        def fail():
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await ask(meter, MeteredModel(act=fail).ainvoke(PROMPT))
        assert meter.spent == meter.ledger.spent == Spending(calls=1, cost=0.0)
        assert outstanding(meter) == {}

    async def test_without_a_price_its_cost_is_unknown_however_it_ends(self):
        for model in (MeteredModel(), MeteredModel(act=lambda: 1 / 0)):
            meter = Meter(Ledger(Caps()))
            await asyncio.gather(ask(meter, model.ainvoke(PROMPT)), return_exceptions=True)
            assert meter.spent.calls == 1
            assert meter.spent.cost is None

    async def test_cancelled_the_budget_pays_for_all_that_it_may_have_used(self, meter):
        begun = asyncio.Event()

        async def act():
            begun.set()
            await asyncio.Event().wait()

        asking = asyncio.create_task(ask(meter, MeteredModel(act=act).ainvoke(PROMPT)))
        await begun.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert meter.spent == Spending(calls=1, cost=0.0)
        assert meter.ledger.spent.tokens == estimate_tokens(PROMPT) + 100
        assert outstanding(meter) == {}

    async def test_timed_out_it_counts_the_same(self, meter):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await ask(meter, MeteredModel(act=asyncio.Event().wait).ainvoke(PROMPT))
        assert meter.spent == Spending(calls=1, cost=0.0)
        assert meter.ledger.spent.calls == 1

    async def test_refused_it_is_never_made(self, caplog):
        meter, model = Meter(Ledger(Caps(calls=1))), MeteredModel()
        await ask(meter, model.ainvoke("first"))
        again = Meter(meter.ledger)
        with pytest.raises(BudgetSpentError, match="its 1 calls are spent"):
            await ask(again, model.ainvoke("second"))
        assert model.asked == ["first"]
        assert again.spent == NOTHING
        assert meter.ledger.spent.calls == 1
        assert caplog.text == "", "LangChain would warn of every refusal"

    async def test_nothing_is_counted_when_nothing_listens(self, meter):
        await ask(meter, MeteredModel().ainvoke(PROMPT))
        await MeteredModel().ainvoke(PROMPT)
        assert meter.spent == ONE


class TestWhatIsSetAside:
    @pytest.mark.parametrize(
        ("settings", "completion"),
        [
            ({"max_tokens": 100}, 100),
            ({"max_tokens": None}, COMPLETION_TOKENS),
            ({"max_tokens": 100, "n": 4}, 400),
            ({"max_tokens": None, "n": 2}, 2 * COMPLETION_TOKENS),
            ({"max_tokens": -1}, COMPLETION_TOKENS),
            ({"max_tokens": 0}, COMPLETION_TOKENS),
            ({"max_tokens": 100, "n": -4}, 100),
        ],
    )
    async def test_the_prompt_s_estimate_and_the_longest_completion_of_each_choice(self, settings, completion):
        most = estimate_tokens(PROMPT) + completion
        await ask(Meter(Ledger(Caps(tokens=most))), MeteredModel(**settings).ainvoke(PROMPT))
        with pytest.raises(BudgetSpentError, match="0 of its"):
            await ask(Meter(Ledger(Caps(tokens=most - 1))), MeteredModel(**settings).ainvoke(PROMPT))

    async def test_what_a_call_sets_explicitly_counts(self):
        ledger = Ledger(Caps(tokens=50))
        await ask(Meter(ledger), MeteredModel(max_tokens=None).ainvoke(PROMPT, max_tokens=20))
        assert ledger.spent.tokens == 15

    @pytest.mark.parametrize(
        "sent", [{"max_tokens": True}, {"n": True}, {"max_completion_tokens": -1, "num_predict": 7}]
    )
    async def test_a_bool_is_no_number_and_minus_one_no_limit(self, sent):
        limit = sent.get("num_predict", COMPLETION_TOKENS)
        ledger = Ledger(Caps(tokens=estimate_tokens(PROMPT) + limit - 1))
        with pytest.raises(BudgetSpentError, match="0 of its"):
            await ask(Meter(ledger), MeteredModel(max_tokens=None).ainvoke(PROMPT, **{"max_tokens": None} | sent))


class TestManners:
    """F14: usage is missing in some ways of calling. Here it never is."""

    async def test_f14_in_a_stream(self, meter):
        with metered(meter):
            words = [chunk.text async for chunk in StreamingModel().astream(PROMPT)]
        assert "".join(words) == "one two three"
        assert meter.spent == ONE

    async def test_f14_in_a_stream_without_a_count(self, meter):
        with metered(meter):
            async for _ in StreamingModel(usage_metadata=None).astream(PROMPT):
                pass
        assert meter.spent.completion == estimate_tokens("one two three")
        assert meter.spent.estimated == 1

    async def test_in_a_stream_that_nobody_reads_to_its_end(self, meter):
        with metered(meter):
            stream = StreamingModel().astream(PROMPT)
            assert (await anext(stream)).text == "one "
            await stream.aclose()
        assert meter.spent.calls == meter.ledger.spent.calls == 1
        assert meter.ledger.spent.tokens == estimate_tokens(PROMPT) + 100
        assert outstanding(meter) == {}

    async def test_f14_in_events_and_batches_and_n_choices(self, meter):
        with metered(meter):
            async for _ in StreamingModel().astream_events(PROMPT, version="v2"):
                pass
            await MeteredModel().abatch([PROMPT, PROMPT])
            await MeteredModel(choices=3).agenerate([[HumanMessage(PROMPT)]])
        assert meter.spent == Spending(4, 40, 20, cost=6.0), (
            "the count of a call with three choices is that of the call"
        )

    async def test_deep_below_in_chains_in_parallel(self, meter):
        model = MeteredModel()
        both = RunnableParallel(a=model, b=RunnableLambda(lambda text: text) | model)

        async def think(text):
            await both.ainvoke(text)
            return await model.ainvoke(text)

        await ask(meter, RunnableLambda(think).ainvoke(PROMPT))
        assert meter.spent == Spending(3, 30, 15, cost=4.5)

    async def test_synchronous_calls_in_threads(self, meter):
        model = MeteredModel()

        def work(text):
            assert threading.current_thread() is not threading.main_thread()
            return model.invoke(text)

        with metered(meter):
            await asyncio.gather(*(RunnableLambda(work).ainvoke(PROMPT) for _ in range(8)))
        assert meter.spent == Spending(8, 80, 40, cost=12.0)

    async def test_a_refusal_reaches_a_thread(self):
        meter, model = Meter(Ledger(Caps(calls=2))), MeteredModel()

        def work(text):
            for _ in range(3):
                model.invoke(text)

        with pytest.raises(BudgetSpentError):
            await ask(meter, RunnableLambda(work).ainvoke(PROMPT))
        assert len(model.asked) == meter.spent.calls == 2

    async def test_a_thread_that_outlives_its_time_makes_no_further_call(self, meter):
        model, given_up, ended = MeteredModel(), threading.Event(), asyncio.Event()
        loop, caught = asyncio.get_running_loop(), []

        def work(text):
            model.invoke(text)
            given_up.wait(10)
            try:
                model.invoke(text)
            except CallTimeoutError as error:
                caught.append(error)
            loop.call_soon_threadsafe(ended.set)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await ask(meter, RunnableLambda(work).ainvoke(PROMPT))
        given_up.set()
        await asyncio.wait_for(ended.wait(), 10)
        assert len(caught) == len(model.asked) == meter.spent.calls == 1

    async def test_a_reply_that_comes_too_late_counts_once(self, meter):
        begun, given_up, ended = threading.Event(), threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def act():
            begun.set()
            given_up.wait(10)

        def work(text):
            MeteredModel(act=act).invoke(text)
            loop.call_soon_threadsafe(ended.set)

        asking = asyncio.create_task(ask(meter, RunnableLambda(work).ainvoke(PROMPT)))
        await asyncio.to_thread(begun.wait, 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        given_up.set()
        await asyncio.wait_for(ended.wait(), 10)
        assert meter.spent.calls == meter.ledger.spent.calls == 1


class TestTwoAtOnce:
    async def test_f15_one_shared_model_each_meter_counts_its_own(self):
        model, ledger = MeteredModel(), Ledger(Caps())
        meters = [Meter(ledger, price) for _ in range(3)]
        for calls, meter in enumerate(meters, 1):
            await asyncio.gather(*(ask(meter, model.ainvoke(PROMPT)) for _ in range(calls)))
        assert [meter.spent.calls for meter in meters] == [1, 2, 3]
        assert ledger.spent == Spending(6, 60, 30, cost=9.0)

    async def test_meters_that_listen_at_the_same_time_do_not_mix(self):
        meters = [Meter(Ledger(Caps()), price) for _ in range(5)]
        gate = asyncio.Event()

        async def work(meter, tokens):
            await ask(meter, MeteredModel(act=gate.wait, usage_metadata=usage(tokens, 0)).ainvoke(PROMPT))

        working = [asyncio.create_task(work(meter, number)) for number, meter in enumerate(meters, 1)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*working)
        assert [meter.spent.prompt for meter in meters] == [1, 2, 3, 4, 5]

    async def test_a_meter_that_closes_ends_no_call_of_another(self, meter):
        begun, gate = asyncio.Event(), asyncio.Event()

        async def act():
            begun.set()
            await gate.wait()

        slow = asyncio.create_task(ask(meter, MeteredModel(act=act).ainvoke(PROMPT)))
        await begun.wait()
        other = Meter(meter.ledger, price)
        await ask(other, MeteredModel().ainvoke(PROMPT))
        assert len(outstanding(meter)) == 1
        gate.set()
        await slow
        assert meter.ledger.spent == meter.spent + other.spent == Spending(2, 20, 10, cost=3.0)


@pytest.mark.parametrize("manner", ["async", "in a thread"])
async def test_f15_a_team_in_the_place_of_a_model_costs_what_its_models_cost(scripted_team, db, meter, manner):
    chat = AlignChatModel(team=scripted_team({"a": ["42", "42"], "b": ["41"]}, order=["42", "41"]), db=db)
    runnable = chat if manner == "async" else RunnableLambda(chat.invoke)
    message = await ask(meter, runnable.ainvoke(PROMPT))
    told = message.usage_metadata
    assert meter.spent == Spending(4, told["input_tokens"], told["output_tokens"], cost=pytest.approx(6.0))
