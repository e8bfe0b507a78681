"""Reads the console blocks of a page, and runs them as its reader would: in order, in one terminal and a second one."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep

CLUSTER = ("make up", ".venv/bin/copyhold up", "copyhold up")
"""Commands that bring a cluster."""

FOREGROUND = (*CLUSTER, ".venv/bin/copyhold run", "copyhold run")
"""Commands that stay: they are started, and what they print is waited for while the page goes on."""

READS = re.compile(r"kubectl (get|wait|auth) |(\.venv/bin/)?copyhold permit (show|list|verify) ")
"""Commands that may be typed again."""

SECONDS = 60
SETTLING = 20


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page and the lines that it shows below; `line` is where it stands."""

    command: str
    shown: tuple[str, ...]
    line: int


def sections(page: str) -> Iterator[tuple[Step, ...]]:
    """The commands under each heading `##`: whoever reads one begins with a terminal of its own."""
    lines = page.splitlines()
    starts = [0, *(number for number, line in enumerate(lines) if line.startswith("## ")), len(lines)]
    for start, end in pairwise(starts):
        # Blank lines before it, so that the steps know where in the page they stand.
        found = tuple(steps("\n" * start + "\n".join(lines[start:end])))
        if found:
            yield found


def steps(page: str) -> Iterator[Step]:
    """The commands of all blocks that are marked `console`; `...` in what is shown stands for anything."""
    inside, command, at = False, "", 0
    shown: list[str] = []
    for number, line in enumerate(page.splitlines(), start=1):
        if line.startswith("```"):
            if command:
                yield Step(command, tuple(shown), at)
            inside, command, shown = line.strip() == "```console", "", []
        elif inside and line.startswith("$ "):
            if command:
                yield Step(command, tuple(shown), at)
            command, shown, at = re.sub(r"\s+# .*$", "", line[2:]), [], number
        elif inside and line.strip():
            assert command, f"line {number}: output without a command"
            shown.append(line)


def shows(output: str, shown: tuple[str, ...]) -> bool:
    """Say whether the lines that the page shows are in the output, in their order; ages and widths may differ."""
    lines = iter(_plain(line) for line in output.splitlines())
    wanted = [re.compile(".*".join(map(re.escape, _plain(line).split("...")))) for line in shown if line.strip() != "..."]
    return all(any(pattern.fullmatch(line) for line in lines) for pattern in wanted)


def _plain(line: str) -> str:
    line = re.sub(r"\b\d+(\.\d+)?(ms|s|m|h|d)(\d+(s|m|h))?\b", "<age>", line)
    line = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d\d:\d\d:\d\d\b", "<time>", line)
    return re.sub(r"\s+", " ", line).strip()


def _speaks(log: Path) -> bool:
    return log.stat().st_size > 0


@dataclass
class Terminal:
    """A shell whose directory is the clone; `export` holds for what follows, and what stays runs in a terminal of its own."""

    folder: Path
    environment: dict[str, str]
    log: Path
    _staying: list[tuple[str, subprocess.Popen[bytes], Path]] = field(default_factory=list)

    def run(self, step: Step) -> None:
        """Run a step and compare; what only reads is asked again for a while, because effects follow their causes."""
        if step.command.startswith(FOREGROUND):
            self._stay(step)
        elif step.command.startswith("export "):
            self._export(step)
        else:
            self._compare(step)

    def close(self) -> None:
        """Press Ctrl-C in the terminals in which something stays; each must end well."""
        ended: list[tuple[str, int | None]] = []
        for command, process, _ in reversed(self._staying):
            os.killpg(process.pid, signal.SIGINT)
            try:
                ended.append((command, process.wait(SECONDS)))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                ended.append((command, None))
        self._staying.clear()
        # make itself dies of the signal once its command has ended.
        assert all(code == 0 or (command.startswith("make ") and code == -signal.SIGINT) for command, code in ended), ended

    def _stay(self, step: Step) -> None:
        log = self.log / f"line-{step.line}"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {step.command}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._staying.append((step.command, process, log))
        deadline = monotonic() + SECONDS
        # What brings a cluster says first how to reach it, and the reader's second terminal does as it says.
        begun = self._pointed if step.command.startswith(CLUSTER) else _speaks
        while not (begun(log) and shows(log.read_text(errors="replace"), step.shown)):
            said = f"line {step.line}: {step.command} did not show {step.shown}:\n{log.read_text(errors='replace')}"
            assert process.poll() is None, said
            assert monotonic() < deadline, said
            sleep(0.1)

    def _pointed(self, log: Path) -> bool:
        said = re.search(r"^export KUBECONFIG=(\S+)", log.read_text(errors="replace"), re.MULTILINE)
        if said:
            self.environment["KUBECONFIG"] = said.group(1)
        return said is not None

    def _export(self, step: Step) -> None:
        name, _, value = step.command.removeprefix("export ").partition("=")
        self.environment[name] = self._bash(f"printf %s {value}").stdout

    def _compare(self, step: Step) -> None:
        reads = READS.match(step.command)
        deadline = monotonic() + SETTLING
        while True:
            done = self._bash(step.command)
            output = done.stdout + done.stderr
            if shows(output, step.shown) and (done.returncode == 0 or step.shown):
                return
            said = f"line {step.line}: $ {step.command}\nshows {step.shown}\ngot [{done.returncode}]\n{output}"
            assert monotonic() < deadline, said
            # What is not there yet may be typed again; what has changed something may not.
            assert reads or "not found" in output, said
            sleep(0.2)

    def _bash(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
