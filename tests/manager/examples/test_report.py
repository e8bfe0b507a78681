"""`copyhold test` without a cluster of one's own, and how it tells of what it plays."""

from io import StringIO
from pathlib import Path

from click.testing import CliRunner
from rich.console import Console

from manager.cli import main
from manager.examples.report import Printer
from manager.examples.runner import Result, StepResult

FOLDER = Path(__file__).parents[3] / "examples" / "adopt"


def test_without_a_cluster_an_embedded_one_is_made() -> None:
    """Nothing but the folder is needed."""
    result = CliRunner().invoke(main, ["test", str(FOLDER)], prog_name="copyhold")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("adopt: An object that was there before")
    assert "1 example passed" in result.stdout


def test_a_terminal_sees_which_step_is_being_taken() -> None:
    """While it is; afterwards a line says how it went, and names of steps do nothing to the terminal."""
    file = StringIO()
    printer = Printer(Console(file=file, force_terminal=True, width=80))
    step = StepResult("it\x1b[2J is there", 0.5, "- a\n+ b\x07")
    printer.progress.begins(2, 5, step.title)
    printer.progress.ends(step)
    printer.sums_up([Result("one", "One", (step,)), Result("two", "Two", (StepResult("x", 0.5),))])
    text = file.getvalue()
    assert "step 2 of 5: it\N{REPLACEMENT CHARACTER}[2J is there" in text
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "1 of 2 examples failed: one (1.0 s)" in text
