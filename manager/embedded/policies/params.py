"""The objects that a binding gives to its policy: by name, by selector, or none."""

from collections.abc import Callable
from dataclasses import dataclass

from apis.meta import Manifest, split_api_version
from manager.embedded.auth.objects import Objects
from manager.embedded.policies.matching import labels, selector
from manager.embedded.policies.request import Kind
from manager.embedded.registry import place_of
from manager.embedded.served import Served
from manager.embedded.store import Key

Kinds = Callable[[str, str, str], Served | None]
"""The served kind of a group, a version and a kind."""


class Misconfigured(Exception):
    """A policy or binding that cannot be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class Params:
    """Finds parameters among the stored objects."""

    objects: Objects
    kinds: Kinds

    def kind(self, param_kind: Manifest) -> Served:
        """The served kind of a policy's parameters. Raises Misconfigured when there is none."""
        group, version = split_api_version(param_kind["apiVersion"])
        served = self.kinds(group, version, param_kind["kind"])
        if served is None:
            named = Kind(group, version, param_kind["kind"])
            raise Misconfigured(f"failed to find resource referenced by paramKind: '{named}'")
        return served

    def found(self, served: Served | None, reference: Manifest | None, namespace: str) -> list[Manifest | None]:
        """The parameters of a binding for a request in `namespace`; None among them is: evaluate without any.

        An empty list means that the policy is not asked. Raises Misconfigured.
        """
        if served is None or reference is None:
            return [None]
        home = self._home(served, reference, namespace)
        if name := reference.get("name"):
            named = self.objects.read(Key(place_of(served), home, name))
            found = [] if named is None else [named]
        else:
            wanted = selector(reference.get("selector"))
            stored = self.objects.manifests(place_of(served), home)
            found = [each for each in stored if wanted.matches(labels(each))]
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
        return [{**each, "apiVersion": served.api_version} for each in found]

    def _home(self, served: Served, reference: Manifest, namespace: str) -> str:
        given: str = reference.get("namespace") or ""
        if not served.namespaced:
            if given:
                raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
            return ""
        if not given and not namespace:
            raise Misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
        return given or namespace
