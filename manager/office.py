"""Permits in one process: admission that is served to the API server, and the keys that it shares with the manager beside it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic

from apis.copyhold.resourcepermit import KIND, TemplateKind
from apis.meta import Manifest
from apis.problems import Problem, Unavailable
from apis.reasons import Reason
from manager.admission.handlers import handlers, template_reader
from manager.admission.register import EVERYWHERE, Reach, Url
from manager.admission.serve import Serving, served
from manager.editor import Editor
from manager.permits.desk import Ears, Permits
from manager.permits.keys import NAME as KEYS
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from manager.world import Cluster

LOOPBACK = Serving(Url("127.0.0.1", 0), ("127.0.0.1", 0))
"""For an API server on this machine: a free port."""

RBAC = "rbac.authorization.k8s.io"

PATIENCE = 20.0
"""Seconds that an API server may take until it asks us: a real one knows of a new webhook after about one."""

PAUSE = 0.1
TRIAL = "copyhold-trial"
"""The name of the permit with which that is tried, as a dry run; no template is called so."""


@dataclass(frozen=True, slots=True)
class Office:
    """Where admission is served and for whom, and the namespace for the keys; `home` must be there."""

    namespace: str
    serving: Serving = LOOPBACK
    reach: Reach = EVERYWHERE
    ears: Ears = field(default_factory=Ears)

    @property
    def home(self) -> tuple[Manifest, ...]:
        """The namespace, and the right of everybody to read the public keys in it, as in deploy/manager."""
        metadata = {"name": "copyhold-public-keys", "namespace": self.namespace}
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [KEYS], "verbs": ["get"]}
        group = {"apiGroup": RBAC, "kind": "Group", "name": "system:authenticated"}
        role = {"apiGroup": RBAC, "kind": "Role", "name": metadata["name"]}
        return (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
            {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
            {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [group]},
        )


@asynccontextmanager
async def opened(office: Office, cluster: Cluster, renderer: Renderer, now: Callable[[], datetime]) -> AsyncIterator[Permits]:
    """Serve admission within the block; what is given is for the manager beside it.

    `now` is the time for both. Certificates have the real one, since the API server checks them. Raises Invalid when the address
    cannot be had, and the problems of the cluster.
    """
    keyring = Keyring(cluster, office.namespace, now)
    await keyring.refresh()
    asked = handlers(cluster, renderer, keyring.sign, now)
    async with served(cluster, office.serving, asked, namespace=office.namespace, holds=lambda: True, reach=office.reach):
        yield Permits(keyring, office.namespace, template_reader(cluster), office.ears)


async def in_force(editor: Editor, namespace: str) -> None:
    """Wait until the API server asks us about permits of this namespace. Raises Unavailable, with the remedy, if it does not."""
    spec = {"template": {"kind": str(TemplateKind.LOCAL), "name": TRIAL}}
    metadata = {"name": TRIAL, "namespace": namespace}
    permit = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata, "spec": spec}
    deadline = monotonic() + PATIENCE
    said = "it does not ask us"
    while monotonic() < deadline:
        try:
            await editor.create(permit, dry_run=True)
        except Problem as problem:
            if problem.reason == Reason.REFUSED:  # by us: there is no such template
                return
            said = str(problem)
        await asyncio.sleep(PAUSE)
    remedy = "name an address by which it reaches this machine with --admission-url https://HOST:PORT"
    raise Unavailable(f"the API server does not reach our admission ({said}): {remedy}")
