"""What a task will ask of whom, and what that costs, known without asking anybody."""

from aligngraph.estimation.estimating import estimate
from aligngraph.estimation.figures import Amount, Cap, Estimate, EstimateLine

__all__ = ["Amount", "Cap", "Estimate", "EstimateLine", "estimate"]
