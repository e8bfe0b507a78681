"""The one exception of the language: a text that is no CEL, or an evaluation without a result."""


class CelError(Exception):
    """A text that is no CEL, or an evaluation without a result. `line` and `column` start at 1; 0 means not known.

    The message of an evaluation holds no value: it could be the content of a Secret. Functions raise it with a message
    alone; the compiler adds the place of the call. `others` are the further mistakes of a text, in its order.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0, others: "tuple[CelError, ...]" = ()) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.others = others

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message


class Exhausted(CelError):
    """The budget is spent. Unlike any other error it is never absorbed by `&&`, `||` or a comprehension."""
