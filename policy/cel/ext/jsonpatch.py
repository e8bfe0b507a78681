"""`jsonpatch.escapeKey`, of Kubernetes: a key as one step of a JSON pointer."""

from policy.cel.budget import Budget
from policy.cel.library import Function, Library, globally
from policy.cel.types import STRING


def escape_key(budget: Budget, key: str) -> str:
    """`~` and `/` as RFC 6901 writes them."""
    budget.grow(2 * len(key))
    return key.replace("~", "~0").replace("/", "~1")


LIBRARY = Library("jsonpatch", functions=(Function("jsonpatch.escapeKey", globally((STRING,), STRING, escape_key, budget=True)),))
