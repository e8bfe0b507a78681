"""`python -m tests.realserver.wire`: takes into manager/embedded/data the numbers of the fields in the protobuf form of kinds.

kubectl sends what it makes itself (`kubectl create configmap`) as protobuf. `wire/main.go` asks the Go types, in the version that
`go.mod` pins.
"""

import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from manager.embedded.protobuf import FILE, pack
from tests.realserver.gotypes import kinds

MODULE = Path(__file__).parent


def take() -> bytes:
    """The facts as they are kept: written twice, they are the same bytes."""
    command = ["go", "run", "-trimpath", "./wire"]
    told = subprocess.run(command, cwd=MODULE, input="\n".join(kinds()), stdout=subprocess.PIPE, check=True, text=True).stdout
    return pack(json.loads(told))


def main() -> int:
    """Ask Go, and write the file."""
    ArgumentParser(prog="python -m tests.realserver.wire", description=__doc__).parse_args()
    packed = take()
    FILE.write_bytes(packed)
    print(f"{len(packed)} bytes in {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
