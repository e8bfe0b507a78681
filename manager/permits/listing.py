"""Permits as the rows of a list. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from rich.cells import cell_len

from apis.meta import Manifest
from manager.console import plain
from manager.permits.glance import approved, digest_of, left, phase_of, who

COLUMNS = ("NAME", "PHASE", "LEFT", "APPROVALS", "REQUESTER", "TEMPLATE", "REASON")
_REASON = 60


def table(permits: Iterable[Manifest], now: datetime, *, namespaces: bool) -> Iterator[str]:
    """The permits as columns, with a head; and the namespace first, when there are several."""
    rows = [("NAMESPACE", *COLUMNS)] + [_row(permit, now) for permit in permits]
    cells = [[plain(cell) for cell in (row if namespaces else row[1:])] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "   ".join(padded).rstrip()


def _row(permit: Manifest, now: datetime) -> tuple[str, ...]:
    spec = permit.get("spec") or {}
    template = spec.get("template") or {}
    reason = str(spec.get("reason") or "")
    return (
        permit["metadata"].get("namespace", ""),
        permit["metadata"]["name"],
        phase_of(permit) or "-",
        left(permit, now) or "-",
        str(approved(permit)) if digest_of(permit) else "-",
        who(spec.get("requester")) if spec.get("requester") else "-",
        str(template.get("name") or ""),
        reason if len(reason) <= _REASON else reason[: _REASON - 1] + "…",
    )
