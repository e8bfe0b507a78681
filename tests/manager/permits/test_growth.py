"""What has grown between the preview that was reviewed and a later one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from manager.permits.growth import grown


def row(verb: str, *paths: str, name: str = "a", taken: tuple[str, ...] = ()) -> Manifest:
    """A row of a preview."""
    found: Manifest = {"version": "v1", "kind": "ConfigMap", "namespace": "solar", "name": name, "verb": verb}
    return found | ({"paths": list(paths)} if paths else {}) | ({"taken": list(taken)} if taken else {})


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(row("Create"), row("Create"), "", id="still absent"),
        pytest.param(row("Create"), row("Adopt", ".data.x"), "ConfigMap solar/a: was absent, and is there now", id="adopted now"),
        pytest.param(row("Create"), row("Patch"), "", id="ours is left over, and as it should be"),
        pytest.param(row("Create"), row("Patch", ".data.x"), "ConfigMap solar/a: changes .data.x, too", id="kin made another"),
        pytest.param(row("Adopt", ".data.x"), row("Create"), "", id="it went: all of the manifest was seen"),
        pytest.param(row("Adopt", ".data.x", ".data.y"), row("Adopt", ".data.y"), "", id="less"),
        pytest.param(
            row("Adopt", ".data.x"), row("Adopt", ".data.x", ".data.y"), "ConfigMap solar/a: changes .data.y, too", id="more"
        ),
        pytest.param(
            row("Adopt", ".data.x"),
            row("Adopt", ".data.x", taken=(".data.x",)),
            "ConfigMap solar/a: takes from others .data.x, too",
            id="by force from somebody new",
        ),
        pytest.param(row("Create"), row("Conflict"), "ConfigMap solar/a: has a conflict now", id="a new conflict"),
        pytest.param(row("Conflict"), row("Conflict"), "", id="an old conflict"),
        pytest.param(row("Create"), row("Forbidden"), "", id="a lost right fails the activation, and grows nothing"),
        pytest.param(row("Skip"), row("Adopt", ".data.x"), "", id="a condition, which was reviewed, holds by now"),
        pytest.param(row("Create", name="b"), row("Create"), "ConfigMap solar/a: was not in the preview", id="not seen"),
    ],
)
def test_only_more_than_what_was_seen_is_growth(before: Manifest, after: Manifest, words: str) -> None:
    """Row by row: what applying would do beyond what the reviewers were shown."""
    assert grown([before], [after]) == words


ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from(["Create", "Adopt", "Patch", "Skip", "Conflict", "Forbidden"]),
        st.sampled_from([".data.x", ".data.y"]),
        name=st.sampled_from("abc"),
    ),
    unique_by=lambda each: each["name"],
)


@given(ROWS)
def test_nothing_grows_by_itself(found: list[Manifest]) -> None:
    """The same preview twice, in any order."""
    assert grown(found, list(reversed(found))) == ""
