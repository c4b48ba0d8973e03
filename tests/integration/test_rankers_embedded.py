import pytest

from aligngraph.answers import AnswerForm
from aligngraph.models import open_model, parse_spec
from aligngraph.ranking import Judge, Option, RankingTask
from aligngraph.ranking.pointwise import PointwiseRanker
from aligngraph.ranking.verifier import VerifierRanker

pytestmark = pytest.mark.embedded

TASK = "Ann has 3 bags of 4 apples and eats 2. How many apples are left?"
OPTIONS = (Option("10", "3 * 4 = 12 and 12 - 2 = 10.\nAnswer: 10"), Option("5", "3 + 4 - 2 = 5.\nAnswer: 5"))


@pytest.mark.parametrize(("ranker", "calls"), [(PointwiseRanker, 2), (VerifierRanker, 4)])
async def test_a_real_model_gives_probabilities_that_are_neither_certain_nor_out_of_range(ranker, calls):
    model = await open_model(parse_spec("embedded:smollm2-135m"), temperature=0.0, timeout_s=60)
    work = RankingTask(TASK, OPTIONS, 0, 1000, {}, AnswerForm.of(TASK, "number"))
    preference = await ranker(Judge(model, 60)).rank(work)
    scores = [call.score for call in preference.calls if call.outcome == "ranked"]
    assert len(preference.calls) == calls
    assert len(scores) == 2
    assert all(0 < score < 1 for score in scores)
    assert preference.abstained == ()
    assert all(call.usage.prompt > 0 and call.usage.completion > 0 for call in preference.calls)
