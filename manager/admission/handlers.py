"""What the admission server is asked on which path, and who answers."""

from collections.abc import Callable, Mapping
from datetime import datetime

from apis.copyhold import VERSION
from apis.meta import GROUP, Manifest
from manager.admission.register import PERMITS, TEMPLATES
from manager.admission.server import Handler
from manager.permits.admit import Admission, TemplateOf
from manager.render.pool import Renderer
from manager.world import World
from policy.permits.trail import Sign


def template_reader(world: World) -> TemplateOf:
    """Reads templates as the manager, and live: an edit counts at once."""

    async def template_of(kind: str, namespace: str, name: str) -> Manifest | None:
        return await world.get(await world.resource(f"{GROUP}/{VERSION}", kind), namespace, name)

    return template_of


def handlers(world: World, renderer: Renderer, sign: Sign, now: Callable[[], datetime]) -> Mapping[str, Handler]:
    """All paths. `now` is the API server's time."""
    admission = Admission(template_reader(world), renderer.check, sign, now)
    return {PERMITS: admission.review, TEMPLATES: admission.template}
