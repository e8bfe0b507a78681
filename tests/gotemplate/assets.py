"""Finds the program sprigtext, or builds it once with the Go toolchain."""

import sys
from pathlib import Path

from tests.support.programs import Programs, Unavailable

MODULE = Path(__file__).parent
SPRIG = "github.com/Masterminds/sprig/v3"


def find() -> Path:
    """Return the program, built if need be, or raise `Unavailable`."""
    programs = Programs("Go template", MODULE, SPRIG, ("sprigtext",), minutes="less than 1", sources=("sprigtext/main.go",))
    return programs.find() / "sprigtext"


if __name__ == "__main__":
    try:
        print(find())
    except Unavailable as error:
        sys.exit(f"gotemplate: {error}")
