"""The command `aligngraph`. Each command imports what it needs when it runs, so that `--help` is quick."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from aligngraph.cli.bench_commands import bench_app
from aligngraph.cli.options import AsJson, Database, TeamFile
from aligngraph.cli.policy_commands import policy_app
from aligngraph.errors import AlignGraphError

app = typer.Typer(
    name="aligngraph",
    help="Ask several language models, get one answer, and remember who was good at this kind of task.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
models_app = typer.Typer(help="Models on this machine.", no_args_is_help=True)
app.add_typer(policy_app, name="policy")
app.add_typer(models_app, name="models")
app.add_typer(bench_app, name="bench")


def _read_stdin() -> str:
    # None where the shell closed it (`<&-`): then there is nothing to read, and so no task
    return sys.stdin.buffer.read().decode(errors="surrogateescape") if sys.stdin else ""


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        from importlib.metadata import version

        print(version("aligngraph"))
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def ask(
    task: Annotated[str, typer.Argument(help="The task; '-' reads it from standard input.")],
    team: TeamFile = None,
    domain: Annotated[str, typer.Option(help="The kind of task, under which competence is learned.")] = "general",
    db: Database = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Fixes labels, orders and sampling seeds. 0 is a seed.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="Name of the run; that of an interrupted one takes it up where it stopped.")
    ] = None,
    *,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print the plan and what it may cost, and ask nobody.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Ask the team: agents propose, the principal ranks blind, one answer comes back."""
    text = _read_stdin() if task == "-" else task
    if estimate:
        from aligngraph.cli.estimate import print_estimate

        print_estimate(text, team=team, db=db, as_json=json)
        return
    from aligngraph.cli.ask import Question, answer

    raise typer.Exit(answer(Question(text, domain, seed, run), team=team, db=db, as_json=json))


@app.command()
def review(
    run: Annotated[str, typer.Argument(help="Name of a run that waits for a person's ranking.")],
    team: TeamFile = None,
    db: Database = None,
    order: Annotated[
        str | None, typer.Option(help="The ranking, best first, as in 'B>A'. Default: asks for it.")
    ] = None,
    review_id: Annotated[
        str | None, typer.Option("--id", help="The id that --json shows: --order counts for no other round.")
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Rank the solutions of a run whose principal is a person, and let it go on."""
    from aligngraph.cli.review import WaitingRun, ask_person, hand_in_once

    waiting = WaitingRun(run, team, db)
    if order is None:
        raise typer.Exit(ask_person(waiting, as_json=json))
    raise typer.Exit(hand_in_once(waiting, order, review_id, as_json=json))


@app.command()
def feedback(
    run: Annotated[str, typer.Argument(help="Name of a run that has ended.")],
    db: Database = None,
    answer: Annotated[str | None, typer.Option(help="The right answer, where it is known.")] = None,
    *,
    correct: Annotated[
        bool | None, typer.Option("--correct/--wrong", help="Whether the answer that was given is right.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Say what an answer turned out to be: it replaces what the run thought of itself."""
    from aligngraph.cli.feedback import give

    give(run, correct=correct, answer=answer, db=db, as_json=json)


@app.command()
def report(
    name: Annotated[str, typer.Argument(metavar="RUN|DOMAIN", help="Name of a run that has ended, or of a domain.")],
    db: Database = None,
    output: Annotated[
        Path | None, typer.Option(help="Where the page goes. Default: report.html; with --text nowhere.")
    ] = None,
    *,
    text: Annotated[bool, typer.Option("--text", help="Print the report here.")] = False,
) -> None:
    """Write one page, complete in itself: what a run decided and why, or what a domain has learned."""
    from aligngraph.cli.report import write_report

    write_report(name, output, db=db, text=text)


@app.command()
def cancel(run: Annotated[str, typer.Argument(help="Name of a run that is under way.")], db: Database = None) -> None:
    """Stop a run that another process asks; `ask --run` takes it up again where it stopped."""
    from aligngraph.cli.cancel import cancel_run

    cancel_run(run, db)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("team.toml"),
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a commented team file."""
    from aligngraph.cli.init import write_template

    write_template(path, replace=force)


@app.command()
def doctor(
    team: TeamFile = None,
    db: Database = None,
    *,
    principal: Annotated[
        bool, typer.Option("--principal", help="Only measure, on twelve items, whether the principal is fit to judge.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Check the team file, keys, servers and database, and try the principal on one easy pair."""
    from aligngraph.cli.doctor import examine, examine_principal

    raise typer.Exit(examine_principal(team, as_json=json) if principal else examine(team, db, as_json=json))


@models_app.command("list")
def models_list(*, json: AsJson = False) -> None:
    """List the embedded models and where their weights are."""
    from aligngraph.cli.models import list_models

    list_models(as_json=json)


@models_app.command("pull")
def models_pull(
    model: Annotated[str, typer.Argument(help="An embedded model's name, or hf:OWNER/REPO/FILE.gguf.")],
) -> None:
    """Fetch a model's weights into the cache and print their path."""
    from aligngraph.cli.models import pull_model

    pull_model(model)


def main() -> None:
    """Run the command; an error of ours is one line on standard error and the exit status that its class names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an answer is worth more than a terminal that can show it
    try:
        app()
    except AlignGraphError as error:
        from aligngraph.cli.rendering import visible

        print(f"aligngraph: {visible(str(error))}", file=sys.stderr)
        sys.exit(error.exit_status)
