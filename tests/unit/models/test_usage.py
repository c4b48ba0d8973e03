import pytest
from langchain_core.messages import AIMessage

from aligngraph.models import TokenCounts, usage_of


@pytest.mark.parametrize("absurd", [-3, 10**30])
def test_a_count_that_cannot_be_is_none(absurd):
    usage = {"input_tokens": absurd, "output_tokens": 5, "total_tokens": 5}
    assert usage_of(AIMessage("x", usage_metadata=usage)) == TokenCounts(0, 5)
