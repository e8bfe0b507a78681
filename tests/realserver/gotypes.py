"""`python -m tests.realserver.gotypes`: takes into manager/embedded/data how Go sees the built-in kinds.

OpenAPI does not say which fields are pointers, which are left out when empty, and what Go calls a type in its errors.
`gotypes/main.go` asks the Go types themselves, in the version that `go.mod` pins.
"""

import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from manager.embedded import openapi
from manager.embedded.kinds.types import FILE, pack

MODULE = Path(__file__).parent


def kinds() -> list[str]:
    """`group/version/kind` of all that has a body: the built-in kinds and the kinds of their subresources."""
    found = {f"{each.group}/{each.version}/{each.kind}" for each in openapi.builtin()}
    return sorted(found | {"autoscaling/v1/Scale", "authentication.k8s.io/v1/TokenRequest", "policy/v1/Eviction"})


def take() -> bytes:
    """The facts as they are kept: written twice, they are the same bytes."""
    lines = "\n".join(kinds())
    command = ["go", "run", "-trimpath", "./gotypes"]
    told = subprocess.run(command, cwd=MODULE, input=lines, stdout=subprocess.PIPE, check=True, text=True).stdout
    return pack(json.loads(told))


def main() -> int:
    """Ask Go, and write the file."""
    ArgumentParser(prog="python -m tests.realserver.gotypes", description=__doc__).parse_args()
    packed = take()
    FILE.write_bytes(packed)
    print(f"{len(packed)} bytes in {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
