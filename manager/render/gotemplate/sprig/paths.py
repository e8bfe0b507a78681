"""Paths with slashes, as texts: no file is looked at."""

import posixpath
import re

from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig.table import STRING, plain


def clean(path: str) -> str:
    """The shortest path to the same place; `.` for the empty one."""
    # Two slashes in front mean something to POSIX, and nothing to Go.
    return posixpath.normpath(re.sub("^/+", "/", path))


def base(path: str) -> str:
    """The last element."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(path: str) -> str:
    """All but the last element."""
    before, slash, _ = path.rpartition("/")
    return clean(before + slash)


def extension(path: str) -> str:
    """The last element from its last dot on."""
    _, dot, after = path.rpartition("/")[2].rpartition(".")
    return dot + after if dot else ""


def absolute(path: str) -> bool:
    """Does it begin with a slash?"""
    return path.startswith("/")


# The ones for files of the system are the same: it is one with slashes.
FUNCTIONS: Functions = {
    name: plain(name, call, STRING)
    for names, call in (
        (("base", "osBase"), base),
        (("dir", "osDir"), directory),
        (("clean", "osClean"), clean),
        (("ext", "osExt"), extension),
        (("isAbs", "osIsAbs"), absolute),
    )
    for name in names
}
