import pytest
from langchain_core.messages import AIMessage

from aligngraph.models import TokenCounts, counted_by_provider, usage_of


def replied(**usage):
    return AIMessage.model_construct(content="x", usage_metadata=usage or None, type="ai")


def test_a_provider_s_own_count_is_kept_with_what_it_read_from_its_cache():
    message = replied(input_tokens=20, output_tokens=5, total_tokens=25, input_token_details={"cache_read": 12})
    assert usage_of(message) == TokenCounts(20, 5, cached=12)
    assert usage_of(message).total == 25


@pytest.mark.parametrize("absurd", [-3, 10**30, None, "many"])
def test_a_count_that_cannot_be_is_none(absurd):
    message = replied(input_tokens=absurd, output_tokens=5, total_tokens=5)
    assert counted_by_provider(message) is None
    assert usage_of(message) == TokenCounts(0, 0)


def test_usage_of_another_form_and_no_usage_are_none():
    assert counted_by_provider(replied(tokens=3)) is None
    assert counted_by_provider(replied()) is None


def test_no_more_can_be_cached_than_was_sent():
    message = replied(input_tokens=20, output_tokens=5, input_token_details={"cache_read": 99})
    assert usage_of(message).cached == 20
