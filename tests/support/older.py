"""API servers without ValidatingAdmissionPolicy, as before Kubernetes 1.30, and our webhook in the place of our policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from manager.admission.keep import policies
from manager.admission.register import standing
from tests.realserver.access import Access
from tests.realserver.server import RealServer
from tests.support.api import Api, Manifest
from tests.support.embedded import EmbeddedServer
from tests.support.permits import Office
from tests.support.policies import ALLOWED, MANAGER_NAMESPACE

GROUP = "admissionregistration.k8s.io"
UNSERVED = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
FLAGS = (
    "--disable-admission-plugins=ServiceAccount,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
    f"--runtime-config={','.join(f'{GROUP}/v1/{plural}=false' for plural in UNSERVED)}",
)
POLICIES = policies(manager_namespace=MANAGER_NAMESPACE, allowed=[ALLOWED])


def older_embedded() -> EmbeddedServer:
    """An embedded cluster that does not know the kind."""
    return EmbeddedServer(unserved=[f"{plural}.{GROUP}" for plural in UNSERVED])


def older_real(programs: Path) -> RealServer:
    """A control plane that does not serve the kind."""
    return RealServer(programs, apiserver=FLAGS)


@dataclass(slots=True)
class Standing:
    """The product's webhook in the place of our policies, as the manager's account, on a server that is ours alone."""

    admin: Api
    office: Office

    @classmethod
    def begin(cls, admin: Api, manager: Access) -> "Standing":
        """Listen, and be registered."""
        made = cls(admin, Office(manager, policies=POLICIES).start())
        made.register()
        return made

    @property
    def configuration(self) -> Manifest:
        """What the server is told."""
        return standing(POLICIES, self.office.place, self.office.bundle)

    def register(self) -> None:
        """Tell the server of it, whatever it knew."""
        self.admin.apply(self.configuration, force=True).expect(200, 201)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nobody answers within the block."""
        self.office.stop()
        try:
            yield
        finally:
            self.office.start()
            self.register()
