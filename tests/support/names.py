"""Names that no other test has, in this run or in one beside it."""

from secrets import token_hex


def fresh(beginning: str = "test") -> str:
    """Return `beginning` and a random end; a valid DNS label if the beginning is one."""
    return f"{beginning}-{token_hex(4)}"
