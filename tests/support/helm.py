"""The program helm over our chart: what it renders, and releases on a server."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

CHART = Path(__file__).parents[2] / "deploy" / "chart"
SECONDS = 120
"""Until a command counts as hanging."""


@dataclass(frozen=True)
class Helm:
    """helm with caches and settings of its own; `kubeconfig` says on which server releases are."""

    program: Path
    folder: Path
    kubeconfig: Path | None = None
    texts: dict[str, str] = field(default_factory=dict)  # what was rendered before: many tests look at the same values

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command; answers it whatever came of it."""
        places = {f"HELM_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        reach = {"KUBECONFIG": str(self.kubeconfig or self.folder / "absent")}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **places, **reach}
        return subprocess.run(
            [str(self.program), *words], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def said(self, *words: str) -> str:
        """What a command that succeeds prints."""
        done = self.run(*words)
        assert done.returncode == 0, f"helm {' '.join(words)}: {done.stderr}{done.stdout}"
        return done.stdout

    def rendered(self, values: Manifest | None = None, *, namespace: str = "copyhold-system") -> list[Manifest]:
        """The objects that the chart gives with these values, hooks among them."""
        asked = f"{namespace} {values!r}"
        if asked not in self.texts:
            self.texts[asked] = self.said("template", "copyhold", str(CHART), "--namespace", namespace, *self.given(values))
        return [manifest for manifest in yaml.load_all(self.texts[asked], yaml.CSafeLoader) if manifest]

    def given(self, values: Manifest | None) -> list[str]:
        """The options that give a command these values."""
        if not values:
            return []
        path = self.folder / f"values-{os.getpid()}-{abs(hash(repr(values)))}.yaml"
        path.write_text(yaml.safe_dump(values))
        return ["--values", str(path)]


def is_hook(manifest: Manifest) -> bool:
    """Is this an object for one moment of a release, and not part of it?"""
    return "helm.sh/hook" in (manifest["metadata"].get("annotations") or {})


def named(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    """The one object of a kind and name."""
    (found,) = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found
