"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

TeamFile = Annotated[
    str | None, typer.Option("--team", help="Team file (TOML). Default: $ALIGNGRAPH_TEAM, else the built-in team.")
]
Database = Annotated[
    str | None,
    typer.Option(
        "--db", help="Folder or PostgreSQL URL of what lasts. Default: $ALIGNGRAPH_DB, else your data folder."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Rankers = Annotated[
    list[str] | None,
    typer.Option(help="A ranker's name, or a table as in a team file; may be repeated. Default: the principal's own."),
]
TrialSeed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of places and labels.")]
RESULTS = (
    "Where to write the results; what is known so far lies beside it (.jsonl), and the same command goes on from it."
)
DataFolder = Annotated[Path, typer.Option(envvar="ALIGNGRAPH_DATA", help="Folder of the recorded panels.")]
