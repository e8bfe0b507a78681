"""Apply conditions: one CEL text that sees the live `object` (null when absent) and `now`, and nothing else."""

import re
from datetime import datetime
from typing import TYPE_CHECKING

from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from policy import cel

if TYPE_CHECKING:  # the models behind it cost the render workers 12 MB
    from apis.meta import Manifest

LONGEST = 4096  # characters, after trimming (seed 003, "Apply conditions")
VARIABLES = {"object": "dyn", "now": "timestamp"}
FAILED = "ConditionEvaluationFailed: expression could not be evaluated"
TOO_MUCH = f"{FAILED}: it takes too much time or memory"

# Comments and string literals, raw and triple ones too: what stands in them is no name.
_LITERAL = re.compile(
    r"""//[^\n]*|[bB]?[rR]["']{3}.*?["']{3}|[bB]?\"\"\"(?:\\.|.)*?\"\"\"|[bB]?'''(?:\\.|.)*?'''"""
    r"""|[rR]"[^"\n]*"|[rR]'[^'\n]*'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_NOW = re.compile(r"(?<![\w.])now(?!\w)")


def check(text: str) -> None:
    """Raise Invalid unless the text is a condition: not blank, at most 4096 characters, CEL over `object` and `now`."""
    trimmed = text.strip()
    if not trimmed:
        raise Invalid(Reason.INVALID, "the CEL expression is blank: omit the field for an unconditional apply")
    if len(trimmed) > LONGEST:
        raise Invalid(Reason.INVALID, f"the CEL expression has more than {LONGEST} characters: shorten it")
    try:
        boolean = cel.compile(trimmed, VARIABLES).boolean
    except cel.CelError as error:
        raise Invalid(Reason.INVALID, f"the CEL expression does not compile: {error}") from error
    if not boolean:
        raise Invalid(Reason.INVALID, "the CEL expression does not compile to a boolean: compare its result with something")


def holds(text: str, object: "Manifest | None", now: datetime) -> bool:
    """The verdict for one target: its live object (None when absent) at `now` (UTC).

    Raises Blocked(ConditionEvaluationFailed) with one fixed text when there is no strict boolean: details could be the
    content of a Secret. The object has to change before another try makes sense. Raises Invalid for what `check` refuses, and
    for what costs more than one evaluation may.
    """
    check(text)
    try:
        result = cel.compile(text.strip(), VARIABLES).evaluate({"object": object, "now": now})
    except cel.Exhausted:
        raise Invalid(Reason.CONDITION_FAILED, TOO_MUCH) from None
    except cel.CelError:
        raise Blocked(Reason.CONDITION_FAILED, FAILED) from None  # the cause may quote the object
    if not isinstance(result, bool):
        raise Blocked(Reason.CONDITION_FAILED, FAILED)
    return result


def uses_now(text: str) -> bool:
    """Can the verdict change by time alone? Read off the words, so that nobody has to load the CEL library for it.

    May say yes for a field or a loop variable of that name, never no for a text that reads `now`.
    """
    return _NOW.search(re.sub(r"\s*\.\s*", ".", _LITERAL.sub("''", text))) is not None
