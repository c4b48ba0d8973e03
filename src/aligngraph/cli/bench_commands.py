"""`aligngraph bench ...`: the commands, each importing what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from aligngraph.cli.options import RESULTS, DataFolder, Rankers, TeamFile, TrialSeed

bench_app = typer.Typer(help="Benchmarks on this machine.", no_args_is_help=True)


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
    data: DataFolder,
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
    data: DataFolder,
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


@bench_app.command("replay")
def bench_replay(  # noqa: PLR0913 - named options
    panel: Annotated[str, typer.Argument(help="Name of the recorded panel, such as gen_gsm8k_subq.")],
    data: DataFolder,
    *,
    judge: Annotated[str, typer.Option(help="none, or simulated:P, right about a pair with probability P.")] = "none",
    agents: Annotated[str, typer.Option(help="Most agents of a team, drawn at random; or all.")] = "8",
    tasks: Annotated[str, typer.Option(help="Most tasks of a team; or all.")] = "300",
    samples: Annotated[int, typer.Option(min=1, help="Most samples of one agent in a task.")] = 8,
    draws: Annotated[int, typer.Option(min=1, help="How many teams are drawn.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of teams, tasks and orders.")] = 0,
    output: Annotated[Path, typer.Option(help="Where to write the results.")] = Path("replay.json"),
    feedback: Annotated[bool, typer.Option("--feedback", help="Tell the right answers after each task.")] = False,
    weaker_half: Annotated[
        bool, typer.Option("--weaker-half", help="Draw from the weaker half of the agents.")
    ] = False,
) -> None:
    """Compare rules of deciding on a recorded panel, each learning from nothing as it goes."""
    from aligngraph.cli.replay import read_judge, read_number, replay_panel
    from aligngraph.trials.replay_tasks import ReplaySetting

    setting = ReplaySetting(
        judge=read_judge(judge),
        feedback=feedback,
        agents=read_number("--agents", agents),
        weaker_half=weaker_half,
        tasks=read_number("--tasks", tasks),
        samples=samples,
        draws=draws,
        seed=seed,
    )
    replay_panel(panel, data, setting, output)
