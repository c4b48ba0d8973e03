"""The sums as a JSON document that another store can take over, and what differs between two of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aligngraph.errors import StoreError
from aligngraph.persistence.learned_records import ArmKey, Arms, ArmSums
from aligngraph.persistence.records import utc_now
from aligngraph.persistence.replay import differing
from aligngraph.persistence.soundness import find_fault, read_arm_sums

FORMAT = "aligngraph-policy"
VERSION = 1

_SUMS = ("kind", "total", "count", "failures", "gradient", "loss")
_COLUMNS = {"arm", "made_of", *_SUMS}


@dataclass(frozen=True)
class Export:
    """The sums of domains.

    Attributes:
        domains: by name.
        exported_at: UTC, ISO 8601.
    """

    domains: Mapping[str, Arms]
    exported_at: str = field(default_factory=utc_now)

    def as_json(self) -> dict[str, Any]:
        """Return the document, plain JSON, with a checksum over all of it."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "exported_at": self.exported_at,
            "domains": {
                domain: [{"arm": key.arm, "made_of": key.made_of, **_plain(arms[key])} for key in sorted(arms)]
                for domain, arms in sorted(self.domains.items())
            },
        }
        return {**document, "checksum": checksum(document)}


@dataclass(frozen=True)
class Difference:
    """Sums of one arm that are not the same before and after; None where there are none."""

    domain: str
    arm: str
    made_of: str
    before: ArmSums | None
    after: ArmSums | None


def compare(before: Mapping[str, Arms], after: Mapping[str, Arms]) -> tuple[Difference, ...]:
    """Return what differs between the sums of two stores or documents, by domain and arm."""
    return tuple(
        Difference(domain, key.arm, key.made_of, before.get(domain, {}).get(key), after.get(domain, {}).get(key))
        for domain in sorted({*before, *after})
        for key in differing(before.get(domain, {}), after.get(domain, {}))
    )


def checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document, whatever its layout and the order of its keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_export(text: str) -> Export:
    """Return the sums that a document holds.

    Raises:
        StoreError: it is no document of ours, is newer than this version of aligngraph, was changed since it was
            written, or holds sums that make no sense.
    """
    document = _parse(text)
    _check(document)
    domains = document["domains"]
    if not isinstance(domains, dict) or not all(isinstance(rows, list) for rows in domains.values()):
        raise StoreError(f"domains is {type(domains).__name__}: a list of arms by domain is allowed; export it again")
    return Export(
        {domain: _read_domain(domain, rows) for domain, rows in domains.items()}, str(document["exported_at"])
    )


def _parse(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the document is no JSON ({error}): name one that `policy export` has written") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StoreError(f"the document is no {FORMAT}: name one that `policy export` has written")
    return document


def _check(document: Mapping[str, Any]) -> None:
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise StoreError(
            f"the document was written by a newer aligngraph (version {version}, known up to {VERSION}): upgrade aligngraph"
        )
    if version != VERSION or not {"exported_at", "domains", "checksum"} <= document.keys():
        raise StoreError(f"the document has version {version!r} and {sorted(document)}: export it again")
    found = checksum({name: value for name, value in document.items() if name != "checksum"})
    if found != document["checksum"]:
        raise StoreError(
            f"the document's checksum is {document['checksum']!r}, its content's {found!r}: it was cut or changed, export it again"
        )


def _read_domain(domain: str, rows: list[Any]) -> Arms:
    arms: dict[ArmKey, ArmSums] = {}
    for row in rows:
        if not isinstance(row, dict) or row.keys() != _COLUMNS or not _is_named(row):
            raise StoreError(
                f"domain {domain!r} holds {row!r}: an arm has the text arm, made_of, and {', '.join(_SUMS)}"
            )
        key = ArmKey(row["arm"], row["made_of"])
        if fault := "it is there twice" if key in arms else find_fault(row):
            raise StoreError(f"arm {key.arm!r} in domain {domain!r} cannot be taken over: {fault}; nothing was changed")
        arms[key] = read_arm_sums(row)
    return arms


def _is_named(row: Mapping[str, Any]) -> bool:
    return isinstance(row["arm"], str) and isinstance(row["made_of"], str)


def _plain(sums: ArmSums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in _SUMS}
