"""`aligngraph policy export`, `import` and `diff`: what was learned as a document, taken over and compared."""

import asyncio
import json
import sys
from pathlib import Path

from aligngraph.cli.differences import agree, describe_differences, print_differences, print_json
from aligngraph.cli.policy_store import open_known, open_or_make
from aligngraph.cli.rendering import console, shown
from aligngraph.errors import UsageError
from aligngraph.persistence import Difference, Export, compare, read_export


def write_export(file: Path | None, db: str | None) -> None:
    """Write what every domain has learned to `file`, or to standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    document = json.dumps(asyncio.run(_export(db)).as_json(), indent=2, ensure_ascii=False)
    if file is None:
        print(document)
        return
    try:
        file.write_text(document + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror}") from error
    console().print(f"written to {shown(str(file))}", soft_wrap=True)


def import_file(file: Path, db: str | None, *, add: bool, dry_run: bool, yes: bool) -> None:
    """Take over what a document holds; what that changes is shown first.

    Raises:
        UsageError: the file cannot be read, or nobody is there to be asked.
        StoreError: it is no such document, or was changed.
    """
    export = read_export(_read_text(file))
    differences = asyncio.run(_import(export, db, add=add, dry_run=True))
    if dry_run:
        print_differences(differences, console())
    elif agree(differences, yes=yes, question="Take this over?"):
        asyncio.run(_import(export, db, add=add, dry_run=False))
        console().print("taken over")


def compare_places(one: str, other: str, *, as_json: bool) -> None:
    """Print what two places have learned differently: documents of `policy export`, or places as of `--db`."""
    differences = asyncio.run(_compare(one, other))
    if as_json:
        print_json(describe_differences(differences))
    else:
        print_differences(differences, console())


async def _export(db: str | None) -> Export:
    async with open_known(db) as store:
        return await store.log.export()


async def _import(export: Export, db: str | None, *, add: bool, dry_run: bool) -> tuple[Difference, ...]:
    async with open_or_make(db, dry_run=dry_run) as store:
        return await store.log.import_policy(export, add=add, dry_run=dry_run)


async def _compare(one: str, other: str) -> tuple[Difference, ...]:
    return compare((await _read_place(one)).domains, (await _read_place(other)).domains)


async def _read_place(place: str) -> Export:
    if await asyncio.to_thread(Path(place).is_file):
        return read_export(await asyncio.to_thread(_read_text, Path(place)))
    return await _export(place)


def _read_text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {str(file)!r}: {error}") from error
