"""`aligngraph policy ...`: the commands, each importing what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from aligngraph.cli.options import AsJson, Database, TeamFile

policy_app = typer.Typer(help="What earlier tasks taught.", no_args_is_help=True)

OneDomain = Annotated[str | None, typer.Option(help="This domain only.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the difference, and change nothing.")]


@policy_app.command("show")
def policy_show(domain: OneDomain = None, db: Database = None, *, json: AsJson = False) -> None:
    """Show, by domain, every arm's competence, weight, share and failures, the principal's trust, and what has changed."""
    from aligngraph.cli.policy import show

    show(domain, db, as_json=json)


@policy_app.command("history")
def policy_history(
    arm: Annotated[str, typer.Option(help="An arm, as `policy show` names it.")],
    domain: OneDomain = None,
    db: Database = None,
    limit: Annotated[int, typer.Option(min=1, help="The latest changes, at most so many of a domain.")] = 50,
    *,
    json: AsJson = False,
) -> None:
    """Show every change of one arm, with the run that made it."""
    from aligngraph.cli.policy_history import show_history

    show_history(arm, domain, db, limit, as_json=json)


@policy_app.command("export")
def policy_export(
    file: Annotated[Path | None, typer.Argument(help="Where to write it. Default: standard output.")] = None,
    db: Database = None,
) -> None:
    """Write what was learned as one JSON document, with a checksum."""
    from aligngraph.cli.policy_transfer import write_export

    write_export(file, db)


@policy_app.command("import")
def policy_import(
    file: Annotated[Path, typer.Argument(help="A document of `policy export`.")],
    db: Database = None,
    *,
    add: Annotated[bool, typer.Option("--add", help="Add it to what is there; it replaces that by default.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Take over what another database has learned, domain by domain."""
    from aligngraph.cli.policy_transfer import import_file

    import_file(file, db, add=add, dry_run=dry_run, yes=yes)


@policy_app.command("diff")
def policy_diff(
    one: Annotated[str, typer.Argument(help="A document of `policy export`, or a place as of --db.")],
    other: Annotated[str, typer.Argument(help="The same.")],
    *,
    json: AsJson = False,
) -> None:
    """Show what two places have learned differently."""
    from aligngraph.cli.policy_transfer import compare_places

    compare_places(one, other, as_json=json)


@policy_app.command("reset")
def policy_reset(
    domain: Annotated[str, typer.Option(help="What to forget.")], db: Database = None, *, yes: Yes = False
) -> None:
    """Forget all that a domain has learned; its log stays."""
    from aligngraph.cli.policy_undo import reset_domain

    reset_domain(domain, db, yes=yes)


@policy_app.command("rollback")
def policy_rollback(
    to: Annotated[
        str, typer.Option(help="A run, whose own lesson stays; a time, UTC; or a number of `policy history`.")
    ],
    domain: OneDomain = None,
    db: Database = None,
    *,
    yes: Yes = False,
) -> None:
    """Go back to what was known then; this is logged, and can be undone."""
    from aligngraph.cli.policy_undo import roll_back

    roll_back(to, domain, db, yes=yes)


@policy_app.command("prune")
def policy_prune(
    keep_days: Annotated[float, typer.Option(help="Texts of runs that ended more days ago go.")],
    db: Database = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Drop the texts of old runs; what they taught stays."""
    from aligngraph.cli.policy_undo import prune_runs

    prune_runs(keep_days, db, dry_run=dry_run)


@policy_app.command("learn")
def policy_learn(
    panel: Annotated[
        Path | None, typer.Option(help="A folder with a recorded panel, or a file with one task a line.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="With --runs: this one only. Else: where the record names none. Default: general."),
    ] = None,
    team: TeamFile = None,
    mapping: Annotated[list[str] | None, typer.Option("--map", help="SOURCE=AGENT/STRATEGY; may be repeated.")] = None,
    db: Database = None,
    *,
    runs: Annotated[bool, typer.Option("--runs", help="Learn anew from all stored runs.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --runs: do it without asking.")] = False,
) -> None:
    """Learn from recorded tasks whose right answers are known, or anew from all stored runs."""
    from aligngraph.cli.policy_learn import learn_from_panel, learn_from_runs
    from aligngraph.cli.policy_record import UNNAMED, RecordedPanel

    if runs == (panel is not None):
        raise typer.BadParameter("one of --panel and --runs is needed")
    if runs and (team or mapping):
        raise typer.BadParameter("--team and --map go with --panel")
    if panel is None:
        learn_from_runs(domain, db, yes=yes, dry_run=dry_run)
    else:
        learn_from_panel(RecordedPanel(panel, domain or UNNAMED, mapping or ()), team, db, dry_run=dry_run)
