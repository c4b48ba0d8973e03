"""A reply that is a program: what it comes to when the sandbox has run it."""

import asyncio
from dataclasses import dataclass

from aligngraph.nodes.resources import Resources
from aligngraph.sandbox import extract_program, missing_confinement, run_program
from aligngraph.team import Team

MOST_OUTPUT_CHARS = 2000


@dataclass(frozen=True)
class Ran:
    """The reply with what its program printed and returned, or why that is nothing."""

    text: str
    problem: str | None = None


async def run_reply(reply: str, resources: Resources) -> Ran:
    """Return what the program in `reply` came to, in the form of a solution that ends in its answer."""
    code = extract_program(reply)
    if code is None:
        return Ran(reply, "no Python program in the reply")
    async with resources.program_turn():
        outcome = await run_program(code, confined=await _is_confined(resources.team))
    if outcome.value is None:
        return Ran(reply, f"program: {outcome.reason}")
    printed = outcome.printed.strip()
    shown = f"\n\nThe program printed:\n{printed[:MOST_OUTPUT_CHARS]}" if printed else ""
    return Ran(f"{reply.rstrip()}{shown}\n\nAnswer: {outcome.value}")


async def _is_confined(team: Team) -> bool:
    """Return whether a program runs in the sandbox: always where there is one, whatever the team allows elsewhere."""
    return not team.allow_unsafe_programs or await asyncio.to_thread(missing_confinement) is None
