"""Logging: one event per line, and nothing in it that could be the content of an object.

Callers write `log.info("applied", target=ref, reason=reason)`: an event in a word or two, and what varies as keys. What passes is
decided here and not by the discipline of callers, in this order:

    _withhold    keys that carry content or credentials go, at any depth; their names stay, under `withheld`
    _plain       text, numbers and identities pass; anything else is only its type (a repr could hold a Secret)
    _exception   type and frames; the text only of exceptions whose text never holds content
"""

import json as jsonlib
import logging
import math
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from enum import Enum
from pathlib import PurePath
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from apis.intent import Identity
from apis.meta import Key, Ref
from apis.problems import Problem

_CONTENT = "data stringdata binarydata body manifest manifests object objects content context params snapshot value values"
_CREDENTIALS = "token accesstoken bearertoken idtoken authorization headers cookie password passwd secret"
_FILES = "privatekey clientkeydata kubeconfig"
WITHHELD = frozenset(f"{_CONTENT} {_CREDENTIALS} {_FILES}".split())
"""Keys that never pass, compared without case, `-` and `_`."""

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
TEXT_BOUND = 2048
"""Characters of one text value."""
ITEMS_BOUND = 50
"""Entries of one list or mapping."""
DEPTH_BOUND = 4
FRAMES_BOUND = 20

# Their text is an error number and a file name, or was written under the rule that it holds no content.
_SPEAKING = (Problem, OSError)
_IDENTITIES = (Key, Ref, PurePath, Problem)


def configure(level: str = "info", json: bool | None = None, *, stream: TextIO | None = None) -> None:
    """Set up logging of the process: to `stream` (stderr), from `level` (debug, info, warning, error) upwards.

    `json` None means JSON lines unless the stream is a terminal. Libraries that use `logging` come out of the same chain, from
    warning upwards whatever the level is: at debug some of them log the bodies of requests. Raises ValueError for another level.
    """
    if level not in LEVELS:
        raise ValueError(f"log level {level!r} is not one of {', '.join(LEVELS)}")
    out = stream or sys.stderr
    as_json = not out.isatty() if json is None else json
    structlog.configure(
        processors=[*CHAIN, _json_line if as_json else _console(colors=out.isatty())],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forward()], level=logging.WARNING, force=True)


class _Forward(logging.Handler):
    """Hands what libraries log to our chain."""

    def emit(self, record: logging.LogRecord) -> None:
        level = min(max(record.levelno, logging.WARNING), logging.ERROR)
        # The arguments stay out: an exception or an object among them would be formatted with its content.
        logger = structlog.get_logger(library=record.name)
        logger.log(level, str(record.msg).split("\n", 1)[0], exc_info=record.exc_info)


def _withhold(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Take out what may carry content or credentials, and say which keys that were."""
    names: list[str] = []
    kept = _without(event, names)
    if names:
        kept["withheld"] = sorted(set(names))
    return kept


def _without(value: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, inner in value.items():
        if str(key).replace("-", "").replace("_", "").lower() in WITHHELD:
            names.append(_text(str(key), 64))
        else:
            # An exception with its traceback comes as a tuple and is for `_exception` alone.
            kept[key] = inner if key == "exc_info" else _without_inside(inner, names)
    return kept


def _without_inside(value: Any, names: list[str]) -> Any:
    if isinstance(value, Mapping):
        return _without(value, names)
    if isinstance(value, list | tuple | set | frozenset) and not isinstance(value, Key):
        return [_without_inside(inner, names) for inner in value]
    return value


def _plain(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Turn every value into bounded plain data."""
    return {key: inner if key == "exc_info" else _value(inner, DEPTH_BOUND) for key, inner in event.items()}


def _value(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return _value(value.value, depth)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Identity):
        return _text(value.user)
    if isinstance(value, _IDENTITIES):
        return _text(str(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if depth and isinstance(value, Mapping):
        return {_text(str(key), 128): _value(inner, depth - 1) for key, inner in list(value.items())[:ITEMS_BOUND]}
    if depth and isinstance(value, list):
        return [_value(inner, depth - 1) for inner in value[:ITEMS_BOUND]]
    return f"<{type(value).__name__}>"


def _text(text: str, bound: int = TEXT_BOUND) -> str:
    """One line of printable text: a line break or an escape sequence in a name must not forge a second event."""
    cut = text if len(text) <= bound else f"{text[:bound]}... ({len(text)} characters)"
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)


def _exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Write an exception as type, text where that is harmless, causes, and frames without source lines and variables."""
    given = event.pop("exc_info", None)
    error = sys.exception() if given is True else given[1] if isinstance(given, tuple) else given
    if not isinstance(error, BaseException):
        return event
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_BOUND:]
    event["raised"] = " from ".join(_named(each) for each in _causes(error))
    event["frames"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


def _causes(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain and len(chain) < 5:
        chain.append(cause)
    return chain


def _named(error: BaseException) -> str:
    name = type(error).__name__
    return f"{name}: {_text(str(error))}" if isinstance(error, _SPEAKING) else name


def _json_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    return jsonlib.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _console(*, colors: bool) -> Processor:
    # The default formatter would print local variables, which are objects.
    return structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="time", exception_formatter=structlog.dev.plain_traceback, pad_event_to=24
    )


def _ordered(_: WrappedLogger, __: str, event: MutableMapping[str, Any]) -> EventDict:
    """Time, level and event first, for whoever reads the lines as they are."""
    first = {key: event[key] for key in ("time", "level", "event") if key in event}
    return first | {key: value for key, value in event.items() if key not in first}


CHAIN: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    _withhold,
    _plain,
    _exception,
    _ordered,
)
