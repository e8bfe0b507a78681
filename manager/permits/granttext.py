"""Grants as people read them: a line for each subject, place and rule.

User/alice may get, list pods in solar-prod (by RoleBinding solar-prod/incident-1042)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from policy.permits.grants import ALL, ANYBODY, amounts_to_all

SHOWN: Final = 8
"""Words of one list that a line shows."""


def lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines, in the order of the rows."""
    return [line(row) for row in rows]


def line(row: Mapping[str, Any]) -> str:
    """One row. What amounts to every right says so at its end."""
    subject = "somebody" if row["subject"] == ANYBODY else _plain(row["subject"])
    by = f" (by {_plain(row['via'])})" if row.get("via") else ""
    where = f"in {_plain(row['namespace'])}" if row.get("namespace") else "in the whole cluster"
    if row.get("unresolved"):
        return f"{subject} may do anything {where}, as far as is known{by}: {_plain(row['unresolved'])}"
    warning = ", which amounts to every right" if amounts_to_all(row) else ""
    return f"{subject} may {_listed(row.get('verbs'), 'do anything with')} {_what(row)} {where}{by}{warning}"


def _what(row: Mapping[str, Any]) -> str:
    urls = row.get("nonResourceURLs") or ()
    if not row.get("resources"):
        return f"URLs {_listed(urls)}"
    names = f" called {_listed(row['resourceNames'])}" if row.get("resourceNames") else ""
    more = f", and URLs {_listed(urls)}" if urls else ""
    return f"{_listed(row['resources'], 'everything')}{_group(row)}{names}{more}"


def _group(row: Mapping[str, Any]) -> str:
    """Of which API groups; the core one goes without saying, except where everything in it is meant."""
    groups = [group or "core" for group in row.get("apiGroups") or ()]
    everything = ALL in row["resources"]
    if ALL in groups:
        return "" if everything else " of all API groups"
    return "" if groups == ["core"] and not everything else f" of {_listed(groups)}"


def _listed(words: Sequence[str] | None, all: str = ALL) -> str:
    if not words or ALL in words:
        return all
    rest = len(words) - SHOWN
    return ", ".join(map(_plain, words[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")


def _plain(text: str) -> str:
    """A name comes from a template: no line break or escape sequence of it reaches the terminal."""
    return "".join(each if each.isprintable() else "?" for each in text)
