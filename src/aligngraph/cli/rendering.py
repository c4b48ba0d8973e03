"""How a decision looks in a terminal: what went wrong first, then the answer, then why."""

import re

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from aligngraph.decision import Decision, Ranking, Stopped

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SAME = 5e-4  # weights that print alike
UNKNOWN_WIDTH = 80


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console on standard output, or error, that shows names and texts as they are: no `:x:` becomes a picture."""
    screen = Console(stderr=stderr, quiet=quiet, emoji=False, highlight=False)
    if screen.width < 1:  # COLUMNS=0, as some terminals of build servers say
        screen.width = UNKNOWN_WIDTH
    return screen


def visible(text: str) -> str:
    """Return the text with every character that would steer the terminal, or turn its direction, spelled out."""
    return _STEERING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def shown(text: str) -> str:
    """Return the text as markup that shows it as it is."""
    return escape(visible(text))


def print_decision(decision: Decision) -> None:
    """Print problems, answer, ranking table, weights before and after, and usage."""
    screen = console()
    for problem in decision.problems:
        screen.print(f"[yellow]![/] {shown(problem)}")
    for warning in decision.warnings:
        screen.print(f"[yellow]note[/] {shown(warning)}")
    if decision.answer is None:
        return
    screen.print(Panel(shown(decision.text or ""), title="solution", title_align="left"))
    screen.print(
        f"[bold]Answer: {shown(decision.answer)}[/]  ({decision.status}, run {decision.run_id})", highlight=False
    )
    screen.print(_notes(decision), style="dim", markup=False)
    screen.print(_answers(decision))
    screen.print(_weights(decision))
    screen.print(_summary(decision))


def _notes(decision: Decision) -> str:
    """Return what a reader should know who was not there: how answers were read, and whose model ranked."""
    kind = f"answers read as {decision.kind}{' (guessed from the task)' if decision.kind_guessed else ''}"
    relatives = decision.ranking.shares_model_with if decision.ranking else []
    doubles = [candidate.id for candidate in decision.candidates if candidate.duplicate_of]
    notes = [
        kind,
        f"the principal shares its model with {', '.join(relatives)}" if relatives else None,
        f"no vote for {', '.join(doubles)}: the same text again from a model that draws nothing" if doubles else None,
        _note_stop(decision.stopped) if decision.stopped else None,
    ]
    return "; ".join(note for note in notes if note)


def _note_stop(stopped: Stopped) -> str:
    why = (
        "they could not have changed the vote" if stopped.reason == "unchangeable" else f"{stopped.posterior:.0%} sure"
    )
    return f"{stopped.skipped_samples} samples were not asked for: {why}"


def _answers(decision: Decision) -> Table:
    places = _places(decision.ranking)
    table = Table(title="answers", title_justify="left")
    for heading in ("answer", "votes", "principal's rank", "posterior"):
        table.add_column(heading, justify="left" if heading == "answer" else "right")
    for answer in sorted(decision.answers, key=lambda answer: -answer.posterior):
        place = places.get(answer.answer, "-")
        style = "bold" if answer.answer == decision.answer else ""
        table.add_row(shown(answer.answer), str(answer.votes), place, f"{answer.posterior:.3f}", style=style)
    return table


def _places(ranking: Ranking | None) -> dict[str, str]:
    """Return the principal's place of each answer; those that are tied share the first of their places."""
    if ranking is None:
        return {}
    places = {answer: f"{place}." for place, answer in enumerate(ranking.order, 1)}
    for tied in ranking.ties:
        first = min(ranking.order.index(answer) for answer in tied) + 1
        places |= dict.fromkeys(tied, f"{first}.=")
    return places


def _weights(decision: Decision) -> Table:
    table = Table(
        title=f"weights in domain {shown(decision.domain)}, among {max(2, len(decision.answers))} answers",
        title_justify="left",
    )
    for heading in ("arm", "before", "", "after"):
        table.add_column(heading, justify="left" if heading == "arm" else "right")
    for arm, before in decision.weights.before.items():
        after = decision.weights.after[arm]
        table.add_row(shown(arm), f"{before:.3f}", arrow(before, after), f"{after:.3f}")
    return table


def arrow(before: float, after: float) -> str:
    """Return an arrow that shows which way a weight went."""
    if abs(after - before) < SAME:
        return "→"
    return "↑" if after > before else "↓"


def _summary(decision: Decision) -> str:
    total, game = decision.usage.total, decision.game
    cost = "" if total.cost is None else f", cost {total.cost:.4f}"
    played = f"game: steps {game.steps}, anchor {game.anchor:.2f}, NashConv {game.nash_conv:.3f}\n" if game else ""
    tokens = f"{total.prompt_tokens:,} + {total.completion_tokens:,} tokens"
    return f"{played}usage: {total.calls} calls, {tokens}{cost}; {decision.seconds:.1f} s"
