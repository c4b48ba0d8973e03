"""The command `aligngraph`. Each command imports what it needs when it runs, so that `--help` is quick."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from aligngraph.errors import AlignGraphError

app = typer.Typer(
    name="aligngraph",
    help="Ask several language models, get one answer, and remember who was good at this kind of task.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
policy_app = typer.Typer(help="What earlier tasks taught.", no_args_is_help=True)
models_app = typer.Typer(help="Models on this machine.", no_args_is_help=True)
bench_app = typer.Typer(help="Benchmarks on this machine.", no_args_is_help=True)
app.add_typer(policy_app, name="policy")
app.add_typer(models_app, name="models")
app.add_typer(bench_app, name="bench")

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


@bench_app.callback()
def _bench() -> None:
    """Benchmarks on this machine."""


@bench_app.command("speed")
def bench_speed(
    output: Annotated[Path, typer.Option(help="Where to write the figures.")] = Path("bench-speed.json"),
    repeats: Annotated[int, typer.Option(help="How often everything is measured.")] = 7,
    *,
    cold: Annotated[
        bool, typer.Option("--cold", help="Also `make run` on a clone of this folder's repository, nothing cached.")
    ] = False,
) -> None:
    """Measure speed and size next to their limits; takes about a minute."""
    from aligngraph.bench.speed import run_speed

    run_speed(output, repeats, cold=cold)


@bench_app.command("attack")
def bench_attack(
    team: TeamFile = None,
    ranker: Rankers = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Pairs of an attack and an item, for each ranker; 540 are all.")
    ] = 135,
    seed: TrialSeed = 0,
    output: Annotated[Path, typer.Option(help=RESULTS)] = Path("attack.json"),
    *,
    undefended: Annotated[
        bool, typer.Option("--undefended", help="Attack a plain prompt without defences as well.")
    ] = False,
) -> None:
    """Measure how often hostile candidates talk the principal into preferring them."""
    from aligngraph.cli.attack import AttackTrial, attack

    attack(team, AttackTrial(ranker or (), undefended, limit, seed, output))


@bench_app.command("rankers")
def bench_rankers(
    data: Annotated[Path, typer.Option(envvar="ALIGNGRAPH_DATA", help="Folder of the recorded panels.")],
    team: TeamFile = None,
    ranker: Rankers = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Questions of each panel. Default: all.")] = None,
    swap_questions: Annotated[
        int, typer.Option(min=0, help="How many questions are ranked in two opposite orders.")
    ] = 20,
    seed: TrialSeed = 0,
    output: Annotated[Path, typer.Option(help=RESULTS)] = Path("rankers.json"),
) -> None:
    """Compare rankers, asked by the team's principal, on recorded candidates whose right answer is known."""
    from aligngraph.cli.rankers import RankerTrial, compare_rankers

    compare_rankers(team, RankerTrial(ranker or (), data, limit, swap_questions, seed, output))


@bench_app.command("savings")
def bench_savings(
    data: Annotated[Path, typer.Option(envvar="ALIGNGRAPH_DATA", help="Folder of the recorded panels.")],
    agents: Annotated[int, typer.Option(min=1, help="Most agents of a team, drawn at random.")] = 8,
    samples: Annotated[int, typer.Option(min=1, help="Most samples of one agent in a task.")] = 8,
    tasks: Annotated[int, typer.Option(min=1, help="Most tasks of a team.")] = 300,
    draws: Annotated[int, typer.Option(min=1, help="How many teams are drawn.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of teams, tasks and orders.")] = 0,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Posterior of the leading answer above which the rest is not asked.")
    ] = 0.9,
    output: Annotated[Path, typer.Option(help="Where to write the results.")] = Path("savings.json"),
) -> None:
    """Compare early stop with drawing all samples, on recorded candidates whose right answer is known."""
    from aligngraph.cli.savings import compare_savings
    from aligngraph.trials.waves import ReplaySetting

    compare_savings(data, ReplaySetting(agents, samples, tasks, draws, seed, threshold), output)


@bench_app.command("resilience")
def bench_resilience(
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks are asked.")] = 200,
    fault_rate: Annotated[float, typer.Option(min=0, max=1, help="The share of requests that meet a fault.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of tasks, replies and faults.")] = 0,
    output: Annotated[Path, typer.Option(help="Where to write the results.")] = Path("resilience.json"),
) -> None:
    """Ask a team on a server that fails, and on one that does not; takes about two minutes and no key."""
    from aligngraph.bench.resilience import Setting
    from aligngraph.cli.resilience import try_resilience

    try_resilience(Setting(tasks, fault_rate, seed), output)


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
