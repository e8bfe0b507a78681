"""Reads the Dockerfile, as far as tests ask about it."""

import json
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, list[str]]]:
    """The instructions of the Dockerfile and their words, in order; comments are left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [_instruction(*line.split(maxsplit=1)) for line in whole if line.strip()]


def _instruction(name: str, rest: str) -> tuple[str, list[str]]:
    """The words of one; those of a JSON list as they are."""
    return name, json.loads(rest) if rest.startswith("[") else shlex.split(rest)


def last_stage() -> list[tuple[str, list[str]]]:
    """The instructions that make the image itself."""
    found = instructions()
    begins = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return found[begins:]


def variables(*, tmp: Path) -> dict[str, str]:
    """What the image sets in the environment, with `tmp` for its /tmp, and without where its programs are."""
    words = [word for name, given in last_stage() if name == "ENV" for word in given]
    found = dict(word.split("=", 1) for word in words)
    return {name: str(tmp) if value == "/tmp" else value for name, value in found.items() if name != "PATH"}
