"""Templates executed by Go, and by us, to be compared."""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.functions import FUNCTIONS
from manager.render.gotemplate.template import parse
from manager.render.gotemplate.value import decoded

_POSITION = re.compile(r"^template: test:\d+(:\d+)?: (executing \"(?:[^\"\\]|\\.)*\" at <.*?>: )?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """A template and its data. A plain one has the functions of text/template alone."""

    template: str
    data: Any = None
    missingkey: str = "default"
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output, or the error; the other one is empty."""

    output: str = ""
    error: str = ""

    @property
    def bare(self) -> str:
        """The error without its position."""
        return _POSITION.sub("", self.error)


class Go:
    """A running program that executes templates."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def outcome(self, case: Case) -> Outcome:
        """What Go makes of a template."""
        asked = {"template": case.template, "data": case.data, "missingkey": case.missingkey, "plain": case.plain}
        asking, answering = self._process.stdin, self._process.stdout
        assert asking is not None
        assert answering is not None
        asking.write(json.dumps(asked) + "\n")
        asking.flush()
        line = answering.readline()
        assert line, f"the program ended over {case}"
        return Outcome(**json.loads(line))

    def outcomes(self, cases: Iterable[Case]) -> list[Outcome]:
        """What Go makes of each."""
        return [self.outcome(case) for case in cases]


@contextmanager
def running(program: Path) -> Iterator[Go]:
    """The program, until the block is left."""
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env={"TZ": "UTC"}
    ) as process:
        try:
            yield Go(process)
        finally:
            process.kill()


def ours(
    case: Case,
    functions: Functions = FUNCTIONS,
    *,
    now: datetime | None = None,
    random: Callable[[int], bytes] | None = None,
) -> Outcome:
    """What we make of a template."""
    try:
        template = parse("test", case.template, functions)
        return Outcome(output=template.execute(decoded(case.data), missingkey=case.missingkey, now=now, random=random))  # type: ignore[arg-type]
    except TemplateError as error:
        return Outcome(error=error.message)
