"""`aligngraph report`: what a run decided and why, or what a domain has learned, as one page or in the terminal."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from aligngraph.cli.policy_store import open_known
from aligngraph.cli.rendering import console, shown
from aligngraph.decision import Decision
from aligngraph.errors import MissingExtraError, StoreError, UsageError
from aligngraph.learning.evidence import Evidence
from aligngraph.persistence import DomainSummary, PolicyStore, Run
from aligngraph.report.document import Report
from aligngraph.report.domain import DomainRecord, report_domain
from aligngraph.report.run import report_run
from aligngraph.report.text import print_report
from aligngraph.report.timeline import follow

PAGE = Path("report.html")
_EXTRA = ("jinja2", "matplotlib", "scipy")


def write_report(name: str, output: Path | None, *, db: str | None, text: bool) -> None:
    """Write the report of the run or, where there is none of that name, of the domain.

    Args:
        name: of a run that has ended, or of a domain.
        output: where the page goes; by default to report.html, with `text` nowhere.
        db: folder or URL of what lasts.
        text: whether to print the report.

    Raises:
        MissingExtraError: a package that reports need is not installed.
        UsageError: there is neither a run nor a domain of that name, the run has no decision, or the file cannot be
            written.
        StoreError: the database cannot be used.
    """
    if missing := [package for package in _EXTRA if find_spec(package) is None]:
        raise MissingExtraError(f'reports need {", ".join(missing)}: pip install "aligngraph[report]"')
    report = asyncio.run(_make_report(name, db))
    if text:
        print_report(report, console())
    if output is not None or not text:
        _write_page(report, output or PAGE)


def _write_page(report: Report, output: Path) -> None:
    from aligngraph.report.page import write_page  # noqa: PLC0415 - an extra, half a second

    try:
        output.write_text(write_page(report), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}; name another file with --output") from error
    console().print(f"written to {shown(str(output))}", soft_wrap=True)


async def _make_report(name: str, db: str | None) -> Report:
    async with open_known(db) as store:
        run = await store.read_run(name)
        if run is not None:
            return _of_run(run)
        summaries = {summary.domain: summary for summary in await store.summary()}
        if name not in summaries:
            raise UsageError(f"no run and no domain {name!r} in this database: name one, or where it is with --db")
        return report_domain(await _read_domain(store, summaries[name]))


def _of_run(run: Run) -> Report:
    if run.decision is None:
        cause = "its texts were not kept" if run.ended else "it has not ended"
        raise UsageError(f"run {run.run_id!r} has no decision to report: {cause}; `report {run.domain}` has its domain")
    try:
        decision = Decision.model_validate(run.decision)
    except ValidationError as error:
        raise StoreError(f"the stored decision of run {run.run_id!r} cannot be read: {error}") from error
    return report_run(decision, None if run.evidence is None else Evidence.read(run.evidence), run.task)


async def _read_domain(store: PolicyStore, summary: DomainSummary) -> DomainRecord:
    evidence, unreadable = {}, []
    async for learned in store.log.read_learned(summary.domain):
        try:
            evidence[learned.run_id] = Evidence.read(learned.evidence)
        except StoreError as error:
            unreadable.append(f"run {learned.run_id!r}: {str(error).splitlines()[0]}")
    updates = [update async for update in store.log.read(summary.domain)]
    return DomainRecord(summary.domain, follow(updates, evidence), (*summary.quarantined, *unreadable))
