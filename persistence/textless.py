"""A policy store that keeps no text: while a run is under way its texts are in memory, and nowhere else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from typing_extensions import override

from aligngraph.persistence.database import Database
from aligngraph.persistence.policy_store import PolicyStore
from aligngraph.persistence.records import Candidate, FinalStatus, Run

KeptTexts = dict[str, dict[str, Candidate]]
"""By run and candidate id, the candidates of runs that are under way in this process."""


class TextlessStore(PolicyStore):
    """Keeps what was learned, the evidence and what calls cost, but no task, candidate, answer, verdict or decision.

    A run that is stopped draws its samples anew when it is taken up.

    Args:
        database: where the rest is kept.
        texts: shared by all stores that work on the same runs.
    """

    def __init__(self, database: Database, texts: KeptTexts) -> None:
        super().__init__(database)
        self._texts = texts

    @override
    async def start_run(self, run: Run) -> Run:
        stored = await super().start_run(replace(run, task=""))
        return replace(stored, task=run.task)

    @override
    async def record_candidate(self, run_id: str, candidate: Candidate) -> None:
        self._texts.setdefault(run_id, {}).setdefault(candidate.candidate_id, candidate)
        await super().record_candidate(run_id, replace(candidate, text="", answer=None, error=None, detour=None))

    @override
    async def read_candidates(self, run_id: str) -> list[Candidate]:
        known = self._texts.get(run_id, {}).values()
        return sorted(known, key=lambda candidate: (candidate.position, candidate.candidate_id))

    @override
    async def read_texts(self, run_id: str) -> dict[str, str]:
        return {candidate.candidate_id: candidate.text for candidate in self._texts.get(run_id, {}).values()}

    @override
    async def record_ranking(self, run_id: str, round_number: int, ranking: Mapping[str, Any]) -> None:
        """Keep nothing: a run that is stopped is ranked anew."""

    @override
    async def mark_interrupted(self, run_id: str) -> None:
        await super().mark_interrupted(run_id)
        self._texts.pop(run_id, None)

    @override
    async def finish_run(
        self,
        run_id: str,
        status: FinalStatus,
        decision: Mapping[str, Any] | None,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        await super().finish_run(run_id, status, None, evidence)
        self._texts.pop(run_id, None)
