"""What the admission server is asked on which path, and who answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from apis.copyhold import VERSION
from apis.meta import GROUP, Manifest
from manager.admission.policies import Policy
from manager.admission.register import PERMITS, TEMPLATES, path_of
from manager.admission.review import Reviewer
from manager.admission.server import Handler
from manager.permits.admit import Admission, TemplateOf
from manager.render.pool import Renderer
from manager.world import Cluster, World
from policy.permits.trail import Sign


def template_reader(world: World) -> TemplateOf:
    """Reads templates as the manager, and live: an edit counts at once."""

    async def template_of(kind: str, namespace: str, name: str) -> Manifest | None:
        return await world.get(await world.resource(f"{GROUP}/{VERSION}", kind), namespace, name)

    return template_of


def handlers(
    cluster: Cluster, renderer: Renderer, sign: Sign, now: Callable[[], datetime], *, policies: Sequence[Policy] = ()
) -> Mapping[str, Handler]:
    """All paths. `now` is the API server's time; `policies` are those that it cannot evaluate itself, if it cannot."""
    admission = Admission(template_reader(cluster), renderer.check, sign, now)
    asked: dict[str, Handler] = {PERMITS: admission.review, TEMPLATES: admission.template}
    return asked | {path_of(policy): Reviewer(cluster, policy).review for policy in policies}
