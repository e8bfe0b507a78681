"""Semantic versions as functions."""

from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig import versions
from manager.render.gotemplate.sprig.objects import SemVer
from manager.render.gotemplate.sprig.table import STRING, plain

LONGEST = 1024  # characters of a version or a constraint


def semver(text: str) -> SemVer:
    """The version."""
    _short(text)
    try:
        return SemVer(versions.version(text))
    except versions.Improper as error:
        raise CallError(str(error)) from None


def semver_compare(constraint: str, text: str) -> bool:
    """Does the version satisfy the constraint?"""
    _short(constraint, text)
    try:
        return versions.holds(versions.constraints(constraint), versions.version(text))
    except versions.Improper as error:
        raise CallError(str(error)) from None


def _short(*texts: str) -> None:
    if max(map(len, texts)) > LONGEST:
        raise Exceeded(f"a version and a constraint have at most {LONGEST} characters")


FUNCTIONS: Functions = {
    function.name: function
    for function in (plain("semver", semver, STRING), plain("semverCompare", semver_compare, STRING, STRING))
}
