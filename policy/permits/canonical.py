"""One text for one JSON value, so that a hash over it means the value and not the way it was written.

| Value | Written |
| --- | --- |
| object | keys sorted by code point, no spaces |
| string | as UTF-8, escaped only where JSON demands it |
| number | as Python writes it; a float that is a whole number as the integer (the API server does not tell 1.0 from 1) |
| list, true, false, null | as they are |
"""

import json
from typing import Any


def canonical(value: Any) -> bytes:
    """The canonical JSON of a value."""
    text = json.dumps(whole(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode(errors="surrogatepass")  # half a surrogate pair is no Unicode, and still one text only


def whole(value: Any) -> Any:
    """The value as the API server stores it: a float that is a whole number is an integer."""
    if isinstance(value, dict):
        return {key: whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
