"""The command `copyhold test`: which folders are run, where, and how that is told on a terminal, in a pipe and as JUnit."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from apis.problems import Invalid
from manager.connect import connected
from manager.console import plain
from manager.examples.example import Example, example
from manager.examples.junit import junit
from manager.examples.runner import Progress, Result, RunOptions, StepResult, run

MARKS = {True: ("✗", "red"), False: ("✓", "green")}


def read_all(folders: Sequence[str]) -> list[Example]:
    """The examples of these folders, all read before the first is run. Raises a usage error for what cannot be read."""
    try:
        return [example(Path(folder)) for folder in folders]
    except Invalid as problem:
        raise click.UsageError(str(problem)) from problem


async def run_examples(
    examples: Sequence[Example],
    output: str,
    run_options: RunOptions,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Run them one after the other and tell of them; answers the exit code."""
    printer = Printer(Console(stderr=output == "junit", highlight=False, soft_wrap=True))
    results: list[Result] = []
    for one in examples:
        printer.opens(one)
        async with connected(kubeconfig, context) as endpoint:
            results.append(await run(one, endpoint, run_options, printer.progress))
        printer.closes(results[-1])
    printer.sums_up(results)
    if output == "junit":
        click.echo(junit(results), nl=False)
    return 1 if any(result.failed for result in results) else 0


class Printer:
    """Tells of examples as they are run: a line a step, and on a terminal which step is being taken."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("")
        self.progress = Progress(self._begins, self._ends)

    def opens(self, one: Example) -> None:
        """An example begins."""
        self._console.print(Text.assemble((plain(one.setup.name), "bold"), f": {plain(one.title)}"))

    def closes(self, result: Result) -> None:
        """An example is over; what was not run for its sake is named."""
        for step in result.steps:
            if step.skipped:
                self._console.print(Text(f"  - {plain(step.title)} (skipped)", style="dim"))

    def sums_up(self, results: Sequence[Result]) -> None:
        """The last line."""
        failed = [result.name for result in results if result.failed]
        took = sum(result.seconds for result in results)
        count = f"{len(results)} example{'s' if len(results) != 1 else ''}"
        said = f"{len(failed)} of {count} failed: {', '.join(map(plain, failed))}" if failed else f"{count} passed"
        self._console.print(Text(f"{said} ({took:.1f} s)", style="red" if failed else "green"))

    def _begins(self, number: int, of: int, title: str) -> None:
        if self._console.is_terminal:
            self._status.update(Text(f"step {number} of {of}: {plain(title)}"))
            self._status.start()

    def _ends(self, step: StepResult) -> None:
        self._status.stop()
        mark, style = MARKS[bool(step.failure)]
        self._console.print(Text.assemble(f"  {mark} ", plain(step.title), (f" ({step.seconds:.1f} s)", "dim"), style=style))
        for line in step.failure.splitlines():
            self._console.print(Text(f"      {plain(line)}", style=_style(line)))


def _style(line: str) -> str:
    """Colours of a diff."""
    if line.startswith(("---", "+++", "@@")):
        return "bold"
    return {"-": "red", "+": "green"}.get(line[:1], "")
