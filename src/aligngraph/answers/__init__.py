"""Final answers: what a text declares, and which answers are one."""

from aligngraph.answers.equivalence import AnswerClass, equivalence_key, group_answers, parse_number
from aligngraph.answers.extraction import extract_answer

__all__ = ["AnswerClass", "equivalence_key", "extract_answer", "group_answers", "parse_number"]
