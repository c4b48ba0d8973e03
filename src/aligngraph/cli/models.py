"""`aligngraph models`: the embedded models' weights."""

import json
from dataclasses import asdict

from rich.table import Table

from aligngraph.cli.rendering import console, shown
from aligngraph.models import known_models, pull


def list_models(*, as_json: bool) -> None:
    """Print the embedded models with size, licence and where their weights are."""
    models = known_models()
    if as_json:
        print(json.dumps([{**asdict(model), "path": str(model.path)} for model in models], indent=2))
        return
    table = Table()
    for heading in ("model", "MB", "licence", "weights"):
        table.add_column(heading, justify="right" if heading == "MB" else "left", overflow="fold")
    for model in models:
        place = str(model.path) if model.cached else "fetched when first used"
        table.add_row(f"embedded:{model.name}", str(model.size_mb), model.licence, shown(place))
    console().print(table)


def pull_model(name: str) -> None:
    """Fetch the weights and print their path.

    Raises:
        ModelError: no such model, or its weights cannot be fetched.
    """
    print(pull(name))
