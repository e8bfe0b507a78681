"""What reaches the log, and above all what does not."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apis.intent import Identity
from apis.meta import Key, Ref
from apis.problems import Invalid
from apis.reasons import Reason
from manager.log import DEPTH_BOUND, TEXT_BOUND, WITHHELD, configure
from manager.world import Event

CANARY = "c2VjcmV0"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave logging as it was found."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def written(event: str = "event", /, **fields: Any) -> str:
    """Log one event as JSON and return what came out."""
    stream = io.StringIO()
    configure("debug", json=True, stream=stream)
    structlog.get_logger().info(event, **fields)
    return stream.getvalue()


def line(event: str = "event", /, **fields: Any) -> dict[str, Any]:
    """Log one event and read it back."""
    answer: dict[str, Any] = json.loads(written(event, **fields))
    return answer


def test_an_event_is_one_json_line_with_time_level_and_event_first():
    """Whoever reads the raw lines finds the same three things at the same place."""
    text = written("applied", target="ConfigMap a/b")
    assert text.count("\n") == 1
    assert list(json.loads(text))[:3] == ["time", "level", "event"]
    assert json.loads(text)["target"] == "ConfigMap a/b"


@pytest.mark.parametrize(
    ("stream", "wanted", "is_json"),
    [
        pytest.param(io.StringIO, None, True, id="a pipe gets JSON"),
        pytest.param(Terminal, None, False, id="a terminal gets text"),
        pytest.param(Terminal, True, True, id="JSON on a terminal when asked for"),
        pytest.param(io.StringIO, False, False, id="text in a pipe when asked for"),
    ],
)
def test_the_form_follows_the_stream_unless_it_is_chosen(stream: type[io.StringIO], wanted: bool | None, is_json: bool):
    """JSON for machines, text for people, and a switch for both."""
    out = stream()
    configure(json=wanted, stream=out)
    structlog.get_logger().info("applied", target="x")
    assert out.getvalue().startswith("{") is is_json
    assert "applied" in out.getvalue()


def test_what_is_below_the_level_is_not_written():
    """`configure("warning")` silences information."""
    out = io.StringIO()
    configure("warning", json=True, stream=out)
    structlog.get_logger().info("quiet")
    structlog.get_logger().warning("loud")
    assert [json.loads(text)["event"] for text in out.getvalue().splitlines()] == ["loud"]


def test_an_unknown_level_is_refused_with_the_known_ones():
    """A misspelled level does not silently become another one."""
    with pytest.raises(ValueError, match="debug, info, warning, error"):
        configure("verbose")


@pytest.mark.parametrize("key", [*sorted(WITHHELD), "stringData", "string_data", "Authorization", "client-key-data"])
def test_keys_of_content_and_credentials_never_pass(key: str):
    """At the top and inside, whatever the spelling; the names of what was left out stay."""
    for fields in ({key: CANARY}, {"answer": {key: CANARY}}, {"answers": [{"deep": {key: CANARY}}]}, {"pair": ({key: CANARY},)}):
        text = written(**fields)
        assert CANARY not in text
        assert json.loads(text)["withheld"] == [key]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Event("ADDED", {"data": {"a": CANARY}}), id="a watch event"),
        pytest.param(CANARY.encode(), id="bytes"),
        pytest.param(KeyError(CANARY), id="an exception that is not ours"),
        pytest.param(iter([CANARY]), id="an iterator"),
    ],
)
def test_a_value_that_is_not_plain_passes_only_as_its_type(value: Any):
    """A repr could hold anything."""
    text = written(what=value)
    assert CANARY not in text
    assert json.loads(text)["what"].startswith("<")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Ref("apps", "v1", "Deployment", "solar", "web"), "Deployment.apps solar/web"),
        (Key("", "Namespace", "", "solar"), "Namespace solar"),
        (Identity("platform", "runner"), "system:serviceaccount:platform:runner"),
        (Reason.FORBIDDEN, "Forbidden"),
        (Invalid(Reason.INVALID, "spec.resources is empty"), "spec.resources is empty"),
        (Path("deploy/crds"), "deploy/crds"),
        (float("nan"), "nan"),
        (3, 3),
        (None, None),
        (("a", 1), ["a", 1]),
    ],
)
def test_identities_and_plain_values_are_readable(value: Any, shown: Any):
    """What names an object is shown the way status messages show it."""
    assert line(what=value)["what"] == shown


def test_a_line_break_in_a_value_forges_no_second_event():
    """Names and messages come from users."""
    text = written("applied\n{}", name='x\n{"event":"forged"}\x1b[2J\u2028')
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert "\u2028" not in text
    out = io.StringIO()
    configure(json=False, stream=out)
    structlog.get_logger().info("applied", name="x\ny")
    assert out.getvalue().count("\n") == 1


def test_long_and_deep_values_are_cut():
    """One event cannot fill the disk."""
    deep: dict[str, Any] = {}
    for _ in range(DEPTH_BOUND + 2):
        deep = {"in": deep}
    read = line(long="x" * 10_000, many=list(range(1000)), deep=deep)
    assert len(read["long"]) < TEXT_BOUND + 50
    assert len(read["many"]) == 50
    assert "<dict>" in json.dumps(read["deep"])


@pytest.mark.parametrize("as_json", [True, False])
def test_an_exception_shows_type_and_place_but_no_foreign_text(as_json: bool):
    """The text of a library's exception may quote its input; ours never does."""
    out = io.StringIO()
    configure(json=as_json, stream=out)
    payload = {"password": CANARY}
    try:
        try:
            raise KeyError(payload["password"])
        except KeyError as error:
            raise Invalid(Reason.RENDER_FAILED, "group web: the template does not render") from error
    except Invalid:
        structlog.get_logger().exception("failed")
    assert CANARY not in out.getvalue()
    assert "Invalid: group web: the template does not render from KeyError" in out.getvalue()
    assert "test_log.py" in out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_libraries_speak_through_the_same_chain_from_warning_upwards():
    """Their debug output may hold bodies; their arguments may hold anything."""
    out = io.StringIO()
    configure("debug", json=True, stream=out)
    library = logging.getLogger("some.client")
    library.debug("response body: %s", CANARY)
    library.warning("retrying after %s\nfuture: %s", 3, CANARY)
    (read,) = [json.loads(text) for text in out.getvalue().splitlines()]
    assert (read["event"], read["library"], read["level"]) == ("retrying after %s", "some.client", "warning")
    assert CANARY not in out.getvalue()


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


# The first draw of text builds a table of Unicode, which takes a while on a busy machine.
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["a", "b", "data", "exc_info", "x y"]), JSONISH))
def test_any_value_gives_exactly_one_line_of_json(fields: dict[str, Any]):
    """Logging never raises and never breaks the stream, whatever it is given."""
    text = written("event", **fields)
    assert text.count("\n") == 1
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
