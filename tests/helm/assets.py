"""Finds the program helm, or builds it once with the Go toolchain."""

import sys
from pathlib import Path

from tests.realserver import assets as kubernetes
from tests.support.programs import Programs, Unavailable, pinned

MODULE = Path(__file__).parent
HELM = "helm.sh/helm/v3"


def find() -> Path:
    """Return the program, built if need be, or raise `Unavailable`."""
    major, minor, _ = kubernetes.version().split(".", 2)
    # Without a cluster, `helm template` takes for granted the Kubernetes of these: that of the real control plane.
    stamps = {
        f"{HELM}/internal/version.version": f"v{pinned(MODULE, HELM)}",
        f"{HELM}/pkg/chartutil.k8sVersionMajor": major,
        f"{HELM}/pkg/chartutil.k8sVersionMinor": minor,
        f"{HELM}/pkg/lint/rules.k8sVersionMajor": major,
        f"{HELM}/pkg/lint/rules.k8sVersionMinor": minor,
    }
    return Programs("Helm", MODULE, HELM, ("helm",), minutes="1 to 3", stamps=stamps).find() / "helm"


if __name__ == "__main__":
    try:
        print(find())
    except Unavailable as error:
        sys.exit(f"helm: {error}")
