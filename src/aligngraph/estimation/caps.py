"""The caps of a budget beside what the worst case comes to."""

from aligngraph.estimation.figures import Amount, Cap, CapName
from aligngraph.team import Team


def caps_of(team: Team, most: Amount) -> tuple[Cap, ...]:
    """Return the caps that the team sets; seconds, and money where a price is unknown, are not known beforehand."""
    budget = team.budget
    found = [
        _cap("samples", budget.samples, sum(agent.samples for agent in team.agents)),
        _cap("calls", budget.calls, most.calls),
        _cap("tokens", budget.tokens, most.prompt_tokens + most.completion_tokens),
        _cap("money", budget.money, most.cost),
        _cap("seconds", budget.seconds, None),
    ]
    return tuple(cap for cap in found if cap is not None)


def _cap(name: CapName, limit: float | None, most: float | None) -> Cap | None:
    if limit is None:
        return None
    return Cap(name=name, limit=limit, most=most, may_be_reached=None if most is None else most > limit)
