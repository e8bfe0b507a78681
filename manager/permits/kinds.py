"""Where objects of rendered kinds live: as discovery says, or as a CustomResourceDefinition beside them will have it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from apis.meta import Manifest, Ref
from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from manager.files import declared
from manager.world import Resource, World

DEFINITION = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Kinds:
    """The served kinds of some manifests, and those that their own CustomResourceDefinitions will add."""

    served: dict[tuple[str, str], Resource] = field(default_factory=dict)
    coming: dict[tuple[str, str], Resource] = field(default_factory=dict)

    def find(self, ref: Ref) -> Resource:
        """Where objects of this kind live."""
        kind = ref.api_version, ref.kind
        return self.served[kind] if kind in self.served else self.coming[kind]

    def is_coming(self, ref: Ref) -> bool:
        """True for a kind that is not served before the same snapshot is applied."""
        return (ref.api_version, ref.kind) in self.coming


async def kinds_of(world: World, manifests: Sequence[Manifest]) -> Kinds:
    """Look the kinds up. Raises Blocked(KindUnknown) for one that is neither served nor defined by these very manifests."""
    found = Kinds()
    for kind in dict.fromkeys((one["apiVersion"], one["kind"]) for one in manifests):
        try:
            found.served[kind] = await world.resource(*kind)
        except Blocked as problem:
            defined = _defined(manifests)
            if problem.reason != Reason.KIND_UNKNOWN or kind not in defined:
                raise
            found.coming[kind] = defined[kind]
    return found


def _defined(manifests: Sequence[Manifest]) -> dict[tuple[str, str], Resource]:
    definitions = [one for one in manifests if one["kind"] == DEFINITION]
    try:
        return {(resource.api_version, resource.kind): resource for resource in declared(definitions)}
    except (AttributeError, TypeError) as error:
        raise Invalid(Reason.INVALID, f"{DEFINITION}: spec is not what the kind says: see `kubectl explain crd.spec`") from error
