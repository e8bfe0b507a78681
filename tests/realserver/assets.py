"""Finds the programs of a Kubernetes control plane, or builds them once with the Go toolchain.

Looked at in this order: the folder that `KUBEBUILDER_ASSETS` names, the cache of this project, a build into that cache.
"""

import os
import sys
from pathlib import Path

from tests.support.programs import Programs, Unavailable, pinned

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
MODULE = Path(__file__).parent
KUBERNETES = "k8s.io/kubernetes"


def version() -> str:
    """Return the Kubernetes version that `go.mod` pins, without the `v`."""
    return pinned(MODULE, KUBERNETES)


def _programs() -> Programs:
    major, minor, _ = version().split(".", 2)
    # Without these the programs call themselves v0.0.0, and kubectl refuses to compare that with anything.
    stamps = {"gitVersion": f"v{version()}", "gitMajor": major, "gitMinor": minor}
    return Programs(
        title="Kubernetes",
        module=MODULE,
        package=KUBERNETES,
        names=PROGRAMS,
        minutes="4 to 8",
        stamps={f"k8s.io/component-base/version.{name}": value for name, value in stamps.items()},
        built_as={"server": "etcd"},
        remedy=f", or set KUBEBUILDER_ASSETS to a folder with {', '.join(PROGRAMS)}",
    )


def find() -> Path:
    """Return the folder that holds `PROGRAMS`, built if need be, or raise `Unavailable`."""
    programs = _programs()
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        if missing := programs.missing(Path(given)):
            raise Unavailable(f"KUBEBUILDER_ASSETS={given} lacks {', '.join(missing)}: add them, or unset it to have them built")
        return Path(given)
    return programs.find()


if __name__ == "__main__":
    try:
        print(find())
    except Unavailable as error:
        sys.exit(f"realserver: {error}")
