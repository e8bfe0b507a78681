"""Does applying a snapshot do more than what its reviewers saw? Two previews -> what has grown, in words. Pure."""

from collections.abc import Iterator, Sequence

from apis.meta import Key, Manifest

CHANGES = frozenset({"Adopt", "Patch"})
"""The verbs that change what is there already."""


def grown(before: Sequence[Manifest], after: Sequence[Manifest]) -> str:
    """What the newer preview does beyond the older one; empty when nothing. Less is no growth, nor is a lost right.

    Both are lists of rows as `status.preview` has them.
    """
    seen = {_key(row): row for row in before}
    return "; ".join(filter(None, (_grown(seen.get(_key(row)), row) for row in after)))


def _grown(before: Manifest | None, after: Manifest) -> str:
    if before is None:
        return f"{_key(after)}: was not in the preview"
    return next(_reasons(before, after), "")


def _reasons(before: Manifest, after: Manifest) -> Iterator[str]:
    key, was, now = _key(after), before["verb"], after["verb"]
    if now == "Conflict" and was != "Conflict":
        yield f"{key}: has a conflict now"
    if now == "Adopt" and was == "Create":
        yield f"{key}: was absent, and is there now"
    if now in CHANGES and was != "Skip":
        for field, words in (("paths", "changes"), ("taken", "takes from others")):
            more = sorted(set(after.get(field) or ()) - set(before.get(field) or ()))
            if more:
                yield f"{key}: {words} {_listed(more)}, too"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def _key(row: Manifest) -> Key:
    return Key(row.get("group") or "", row["kind"], row.get("namespace") or "", row["name"])
