"""`aligngraph policy ...`: the commands, each importing what it needs when it runs."""

from typing import Annotated

import typer

from aligngraph.cli.options import AsJson, Database

policy_app = typer.Typer(help="What earlier tasks taught.", no_args_is_help=True)


@policy_app.command("show")
def policy_show(
    domain: Annotated[str | None, typer.Option(help="This domain only.")] = None,
    db: Database = None,
    *,
    json: AsJson = False,
) -> None:
    """Show, by domain, every arm's competence, weight and failures, the principal's trust, and models that failed."""
    from aligngraph.cli.policy import show

    show(domain, db, as_json=json)
