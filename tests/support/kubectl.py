"""The same kubectl commands on two servers, and their outputs without what differs from run to run."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 60
"""Until a command counts as hanging."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, made comparable, and its exit code."""

    command: str
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"$ {self.command}\n[{self.code}]\n{self.out}{self.err}"


@dataclass(frozen=True)
class Kubectl:
    """kubectl with the kubeconfig of one server, in a folder of its own (caches are kept by address)."""

    program: Path
    kubeconfig: Path
    folder: Path
    words: dict[str, str] = field(default_factory=dict)  # what stands for `{word}` in a command

    def run(self, command: str) -> Said:
        """Run one command line (without the word kubectl); `{ns}` and such are filled in, and taken out of the output again."""
        line = [_filled(word, self.words) for word in shlex.split(command)]
        done = subprocess.run(
            [str(self.program), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.folder / 'cache'}", *line],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=SECONDS,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBE_EDITOR": "sed -i s/before/after/"},
        )
        return Said(command, done.returncode, self._plain(done.stdout), self._plain(done.stderr))

    def _plain(self, text: str) -> str:
        for pattern, word in _VARYING:
            text = pattern.sub(word, text)
        for word, value in sorted(self.words.items(), key=lambda each: -len(each[1])):
            text = text.replace(value, f"<{word}>")
        return "\n".join(_cells(line) for line in text.replace(str(self.folder), "<folder>").splitlines())


_VARYING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "<time>"),
    (re.compile(r"(resourceVersion\\*\"?: *\\*\"?)\d+"), r"\1<version>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b10\.0\.0\.\d+\b"), "<address>"),
    (re.compile(r"\b3[0-2]\d{3}(?=/(TCP|UDP))"), "<port>"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
    (re.compile(r"\b[a-z0-9]{5}\b(?=-suffix)"), "<random>"),
    (re.compile(r"(?<=\s)(\d+[smhd])+(?=\s|$)"), "<age>"),
    (re.compile(r"/tmp/\S+"), "<file>"),
]


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text


def _cells(line: str) -> str:
    """A row of a table is as wide as its widest cell, which may be an age: compare cells, but keep indentation."""
    indent = len(line) - len(line.lstrip())
    return " " * indent + re.sub(r" {2,}", "  ", line.strip())
