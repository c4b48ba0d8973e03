"""What a judge gets to see of a text that it did not ask for: what a person would see, and nothing that a machine would obey."""

import re

# Characters that stand for nothing that can be seen (Unicode: Default_Ignorable_Code_Point, 16.0): zero widths, bidi
# controls, tags, variation selectors, fillers. A model reads instructions in them that no person has noticed.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Marks of chat templates: many servers turn them into real turns wherever they stand.
_TEMPLATE_MARK = re.compile(
    r"<(?=[|\uff5c][^<>\s]{1,40}[|\uff5c]>)"  # <|im_start|>, also with full-width bars
    r"|<(?=/?(?:s|bos|eos|start_of_turn|end_of_turn|think|tool_call|tool_response)>)"
    r"|<(?=</?SYS>>)|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\])"
)
MOST_MARKS = 2  # combining characters on one letter: more than Vietnamese needs
_STACKED = re.compile(
    rf"([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{MOST_MARKS}}})"
    r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


def neutral(text: str) -> str:
    """Return the text as a person would see it; what is ordinary stays as it is, and doing it twice changes nothing.

    Characters that cannot be seen and control characters are dropped, except newline and tab; every other line end is a
    newline; marks of chat templates get a space after their bracket, so that no server takes them for turns; of stacked
    accents two are kept. Look-alike letters stay: which of two alphabets is meant, the text does not say.
    """
    seen = _CONTROL.sub("", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))
    return _TEMPLATE_MARK.sub(lambda found: f"{found[0]} ", _STACKED.sub(r"\1", seen))
