"""The filters and functions that templates have: nothing that reads files, network or environment."""

import base64
import hashlib
import json
import re
import secrets
import string
import uuid
from collections.abc import Callable
from typing import Any

import orjson
import yaml
from jinja2.exceptions import UndefinedError
from jinja2.filters import FILTERS as JINJA
from jinja2.runtime import Undefined
from jinja2.utils import Cycler, Joiner, Namespace

from manager.render import text
from manager.render.age import age_key
from manager.render.taint import Checked

LONGEST = 4 << 20  # characters of a value that an operator or a function makes
ITEMS = 10_000  # of a range

# Not here: what writes HTML, what draws lots, and `attr`, which only makes a way around the sandbox's rules longer.
_LEFT_OUT = frozenset(
    {"attr", "e", "escape", "forceescape", "pprint", "random", "safe", "striptags", "tojson", "urlize", "xmlattr"}
)

_UUIDS = uuid.UUID("6f3b2c1e-6d0f-5f0e-9d55-3c0b6f2f7a11")  # fixed for ever: the same parts give the same UUID
# Line breaks and characters to YAML that JSON leaves as they are.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Refused(Exception):
    """A function does not take its arguments. The message holds no value of them."""


def tojson(value: Any) -> Checked:
    """JSON on one line that YAML reads as the same value; no HTML escapes, maps in their own order."""
    if isinstance(value, Undefined):
        raise UndefinedError(str(value))  # str() raises already; it names what is missing
    try:
        # Keys that are marked strings count as keys of another type.
        written = orjson.dumps(value, default=_listed, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:
        raise Refused("tojson: not a value that JSON can hold") from None
    return Checked(_NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", written))


def fromjson(value: str) -> Any:
    """The value that a JSON text holds."""
    try:
        return orjson.loads(str.__str__(value))  # it takes no subclass
    except (TypeError, orjson.JSONDecodeError):
        raise Refused("fromjson: not a JSON text") from None


def toyaml(value: Any) -> str:
    """Block-style YAML, maps in their own order, without a newline at the end."""
    plain = orjson.loads(str.__str__(tojson(value)))  # no shared objects, so no anchors
    written: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)
    return written.removesuffix("\n...\n").rstrip("\n")


class _Dumper(yaml.CSafeDumper):
    """Quotes, besides what PyYAML would misread, what kubectl would: `y`, `1e3`, `0o7`."""


def _quoted(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if isinstance(text.scalar(value), str) else "'")


_Dumper.add_representer(str, _quoted)


def fromyaml(value: str) -> Any:
    """The only document of a YAML text."""
    try:
        return text.document(value, LONGEST)
    except text.Unreadable as error:
        raise Refused(f"fromyaml: line {error.line} of the text: {error.message}") from None


def b64encode(value: str) -> str:
    """Base64 of the text in UTF-8."""
    return base64.b64encode(value.encode()).decode()


def b64decode(value: str) -> str:
    """The text, in UTF-8, behind standard Base64."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:  # binascii.Error and UnicodeDecodeError are among them
        raise Refused("b64decode: not Base64 of a UTF-8 text") from None


def sha256sum(value: str) -> str:
    """The SHA-256 of the text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(value.encode()).hexdigest()


def deterministic_uuid(*parts: Any) -> str:
    """The same UUID (version 5) for the same parts."""
    try:
        return str(uuid.uuid5(_UUIDS, json.dumps(parts, sort_keys=True)))
    except (TypeError, ValueError):
        raise Refused("deterministic_uuid: takes strings, numbers, lists and maps") from None


def bounded_range(*bounds: int) -> range:
    """`range`, of at most 10000 numbers."""
    numbers = range(*bounds)
    if len(numbers) > ITEMS:
        raise Refused(f"range: more than {ITEMS} numbers")
    return numbers


def random_string(length: int = 32, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Characters drawn from the alphabet by the kernel's generator."""
    if not 0 <= length <= ITEMS or not alphabet:
        raise Refused(f"random_string: takes a length from 0 to {ITEMS} and an alphabet")
    return "".join(secrets.choice(alphabet) for _ in range(length))


def uuid4() -> str:
    """A random UUID."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def _listed(value: Any) -> Any:
    """Iterators and views, as lists."""
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: filter for name, filter in JINJA.items() if name not in _LEFT_OUT},
    "tojson": tojson,
    "fromjson": fromjson,
    "toyaml": toyaml,
    "fromyaml": fromyaml,
    "b64encode": b64encode,
    "b64decode": b64decode,
    "sha256sum": sha256sum,
}

# Their results are tainted whatever they were given: text that was checked as a whole comes apart here.
DECODERS = frozenset({"fromjson", "fromyaml", "b64decode"})

# They only add or take away blanks: checked text stays checked.
SPACERS = frozenset({"indent", "trim"})

# `state` is Jinja's `namespace`, a name that is taken here: {% set found = state(any=false) %}{% set found.any = true %}.
GLOBALS: dict[str, Any] = {
    "range": bounded_range,
    "dict": dict,
    "cycler": Cycler,
    "joiner": Joiner,
    "state": Namespace,
    "deterministic_uuid": deterministic_uuid,
}

# Only in groups with a condition, which decides when a new value is written.
RANDOM: dict[str, Callable[..., Any]] = {"random_string": random_string, "uuid4": uuid4, "age_key": age_key}
CLOCKED = frozenset({"now", *RANDOM})
