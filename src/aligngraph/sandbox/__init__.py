"""Runs Python that a model wrote, in a process that can compute and nothing else."""

from aligngraph.sandbox.child import ALLOWED_MODULES
from aligngraph.sandbox.confinement import missing_confinement
from aligngraph.sandbox.extraction import extract_program
from aligngraph.sandbox.outcome import ProgramLimits, ProgramOutcome
from aligngraph.sandbox.running import run_program

__all__ = [
    "ALLOWED_MODULES",
    "ProgramLimits",
    "ProgramOutcome",
    "extract_program",
    "missing_confinement",
    "run_program",
]
