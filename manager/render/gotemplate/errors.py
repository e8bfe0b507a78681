"""How a template fails.

TemplateError    what the caller of `parse` and `execute` sees: the message of Go, with its position
CallError        a function refuses its arguments; the evaluator says where, and which function
Exceeded         a bound was passed; the evaluator says where
"""

import re

_BYTES = re.compile("[\udc80-\udcff]")


class TemplateError(Exception):
    """A template that does not parse or does not execute.

    `message` reads like Go's and may quote a value; `safe` quotes none. `line` counts from 1, `column` counts bytes from 0, both
    in the text of the template `name`; line 0 and column -1 are unknown.
    """

    def __init__(self, message: str, line: int = 0, column: int = -1, name: str = "", *, safe: str = "") -> None:
        # A message may quote bytes that are no text, and must be text itself: it is logged, and written to status.
        self.message = _BYTES.sub("\ufffd", message)
        self.safe = _BYTES.sub("\ufffd", safe or message)
        super().__init__(self.message)
        self.line = line
        self.column = column
        self.name = name


class CallError(Exception):
    """A function cannot do what it is asked: the `error` (or the panic) of the Go function, without a position."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Exceeded(Exception):
    """More steps, output, depth or size than a template may have."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


__all__ = ["CallError", "Exceeded", "TemplateError"]
