"""How the server says that a user may not: 403 in the words of Kubernetes."""

from collections.abc import Iterable

from apis.meta import Manifest
from manager.embedded.attributes import Attributes
from manager.embedded.causes import quote
from manager.embedded.status import Named, StatusError

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def quoted_list(texts: Iterable[str]) -> str:
    """A list of strings as Go's `%q` writes it: `["a" "b"]`."""
    return f"[{' '.join(map(quote, texts))}]"


def refusal(asked: Attributes, reason: str = "") -> StatusError:
    """403 for what was asked; `reason` is what the authorizer had to say, such as a role that does not exist."""
    # As in the real server: what looks like HTML is masked, since browsers may show this. The reason is its own text.
    said = _said(asked).translate(_MARKUP) + (f": {reason}" if reason else "")
    if not asked.resource and not asked.group:
        return _OfNothing(403, "Forbidden", f"forbidden: {said}")
    about = Named(asked.group, asked.resource, asked.name)
    subject = f"{about} {quote(asked.name)}" if asked.name else f"{about}"
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {said}", about)


class _OfNothing(StatusError):
    """A refusal that is about no resource: its details are there, and empty."""

    def manifest(self) -> Manifest:
        status = super().manifest()
        return {key: value for key, value in status.items() if key != "code"} | {"details": {}, "code": self.code}


def _said(asked: Attributes) -> str:
    who = f"User {quote(asked.user.name)} cannot {asked.verb}"
    if asked.path:
        return f"{who} path {quote(asked.path)}"
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    place = f"in the namespace {quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
    return f"{who} resource {quote(resource)} in API group {quote(asked.group)} {place}"
