"""Whatever command a page shows works as it is written there, and shows what the page shows."""

import os
import re
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from tests.docs.console import CLUSTER, Step, Terminal, sections, shows, steps
from tests.support.embedded import EmbeddedServer

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])

ELSEWHERE = (
    "make test",
    "make bench",
    "make realserver",
    "make setup",
    "make check",
    "make fast",
    "make facts",
    "make format",
    ".ci/run",
)
"""Commands that take minutes or are what is running right now: it is enough that they exist."""

RUN = [page for page in PAGES if list(steps(page.read_text()))]


def test_pages_show_commands() -> None:
    """The README at least has some."""
    assert ROOT / "README.md" in RUN


@pytest.fixture
def environment(kubectl: Path, tmp_path: Path) -> dict[str, str]:
    """A reader's: his kubectl and our commands are found, and nothing else of him is known."""
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), str(kubectl.parent), "/usr/local/bin", "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(home), "VENV": str(Path(sys.executable).parents[1]), "KUBE_EDITOR": "true"}


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(page: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """A reader who types what a page shows, from top to bottom, sees what it shows; who has a cluster, has an empty one."""
    for section in sections(page.read_text()):
        brings_one = any(step.command.startswith(CLUSTER) for step in section)
        with nullcontext() if brings_one else EmbeddedServer() as server:
            cluster = {"KUBECONFIG": str(server.access.kubeconfig(tmp_path / "kubeconfig"))} if server is not None else {}
            with closing(Terminal(ROOT, environment | cluster, tmp_path)) as terminal:
                for step in section:
                    _exists(step) if step.command.startswith(ELSEWHERE) else terminal.run(step)


def _exists(step: Step) -> None:
    program, *words = step.command.split()
    if program == "make":
        targets = [word for word in words if "=" not in word]
        assert subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, check=False).returncode == 0, step
    else:
        assert os.access(ROOT / program, os.X_OK), step


def test_links_between_pages_lead_somewhere() -> None:
    """A relative link names a file that is there, and a heading in it if it names one."""
    broken = []
    for page in PAGES:
        prose = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, heading = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists() or (heading and heading not in _headings(file.read_text())):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def _headings(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


PAGE = """
```console
$ one                    # says two things
first    3s
...
third
$ two
```
```yaml
$ not a command
```
"""


def test_a_page_is_read_as_commands_and_what_they_show() -> None:
    """Comments are left out, and blocks of other languages are none of ours."""
    assert list(steps(PAGE)) == [Step("one", ("first    3s", "...", "third"), 3), Step("two", (), 7)]


def test_a_section_knows_where_it_stands() -> None:
    """Commands under different headings are apart, and keep their lines."""
    found = list(sections(f"# Page\n{PAGE}## Second\n```console\n$ three\n```\n"))
    assert [[(step.command, step.line) for step in section] for section in found] == [[("one", 4), ("two", 8)], [("three", 15)]]


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        pytest.param("first 12m\nsecond\nthird", True, id="another age, and a line between"),
        pytest.param("third\nfirst 3s", False, id="another order"),
        pytest.param("first 3s", False, id="a line too few"),
    ],
)
def test_what_is_shown_is_looked_for_in_order(output: str, *, seen: bool) -> None:
    """Ages and widths may differ; words and their order may not."""
    assert shows(output, ("first    3s", "...", "third")) is seen
