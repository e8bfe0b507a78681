"""Every folder of examples/ does what its expect.yaml says, on the embedded cluster and on a real server."""

from pathlib import Path

import pytest

from manager.examples.example import example
from manager.examples.runner import RunOptions, run
from tests.realserver.access import Access
from tests.support.running import endpoint

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/parent.yaml"))
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


@each
async def test_an_example_comes_true(server: Access, crds: object, policies: object, folder: Path) -> None:
    """Beside whatever else uses that server: an example touches nothing but its own."""
    result = await run(example(folder), endpoint(server), RunOptions())
    assert [f"{step.title}: {step.failure}" for step in result.steps if step.failure] == []


@each
def test_an_example_says_what_it_shows_and_how_to_try_it(folder: Path) -> None:
    """A README with what it shows, how to try it and what to look at; commands name the folder."""
    text = (folder / "README.md").read_text()
    assert text.startswith("# ")
    assert f"copyhold test examples/{folder.name}" in text
    assert f"copyhold up --load examples/{folder.name}" in text
    for file in [*folder.glob("cluster/*.yaml"), *folder.glob("*.yaml")]:
        assert f"`{file.relative_to(folder)}`" in text
    assert "## Try it" in text
    assert "## Look at" in text
