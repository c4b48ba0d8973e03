"""Final answers: what a text declares, and which answers are one."""

from aligngraph.answers.choices import Choice
from aligngraph.answers.equivalence import AnswerClass, equivalence_key, group_answers
from aligngraph.answers.extraction import extract_answer
from aligngraph.answers.form import AnswerForm
from aligngraph.answers.kinds import AnswerKind, guess_kind
from aligngraph.answers.numbers import parse_number

__all__ = [
    "AnswerClass",
    "AnswerForm",
    "AnswerKind",
    "Choice",
    "equivalence_key",
    "extract_answer",
    "group_answers",
    "guess_kind",
    "parse_number",
]
