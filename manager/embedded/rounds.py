"""What stays the same when a request is handled anew, since somebody outside had to be asked about it meanwhile."""

from contextvars import ContextVar

NAMES: ContextVar[dict[str, str] | None] = ContextVar("names", default=None)
"""The names that were made up for the objects of a request, by where and from what. None: it is handled once."""
