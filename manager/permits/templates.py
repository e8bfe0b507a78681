"""Permit templates report whether, and where, permits can be made from them. Their own small loop: they apply nothing."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import structlog

from apis.copyhold import globalresourcepermittemplate
from apis.kind import Kind
from apis.meta import Manifest
from apis.problems import Invalid, Problem, Stale
from apis.reasons import Reason
from manager.elector import Elector
from manager.permits.templatecheck import KINDS, Check, judge, warnings
from manager.world import Cluster
from policy.permits.moments import stamp

log = structlog.get_logger("copyhold")

PAUSE = 1.0
"""Seconds after which what could not be judged or written is tried again."""

AGAIN = 600.0
"""Seconds after which a template that is not Ready is looked at again: a worker may only have been slow."""

EVERYWHERE = "*"
"""Stands for all namespaces in the status of a global template."""

GLOBAL = globalresourcepermittemplate.KIND.kind


class Known(Protocol):
    """What the watches have shown."""

    templates: dict[str, Manifest]  # of both kinds, by UID
    namespaces: dict[str, Manifest]  # by name


class Templates:
    """Writes the status of permit templates, when it differs from what is there."""

    def __init__(
        self,
        cluster: Cluster,
        state: Known,
        elector: Elector,
        now: Callable[[], datetime],
        check: Check,
        ready: Callable[[Manifest, bool | None], None] = lambda _template, _ready: None,
    ) -> None:
        """`check` is the renderer's. `ready` is told whether permits can be made from a template; None: it is gone."""
        self._cluster = cluster
        self._state = state
        self._elector = elector
        self._now = now
        self._check = check
        self._ready = ready
        self._told: dict[str, Manifest] = {}  # of which `ready` was told
        self._sound: dict[str, int] = {}  # by UID: the generation that was found to be sound
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._changed: set[str] = set()
        self._wake = asyncio.Event()

    def changed(self, uid: str) -> None:
        """A template is not what it was, or is gone."""
        self._changed.add(uid)
        self._wake.set()

    def moved(self) -> None:
        """Namespaces came, went or have other labels."""
        for uid, template in self._state.templates.items():
            if template["kind"] == GLOBAL and (template.get("spec") or {}).get("namespaceSelectors") is not None:
                self.changed(uid)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            uids, self._changed = self._changed, set()
            for uid in sorted(uids):
                template = self._state.templates.get(uid)
                if template is None:
                    self._forget(uid)
                    continue
                try:
                    with self._elector.writing(uid):
                        await self._report(uid, template)
                except Exception:
                    # Unreported it serves no permit; the templates of others are judged all the same.
                    log.exception("template failed by a defect", template=KINDS[template["kind"]].title(template))

    async def _report(self, uid: str, template: Manifest) -> None:
        if not self._elector.holds(uid):
            return
        metadata = template["metadata"]
        try:
            verdict = await self._verdict(uid, template)
            self._told[uid] = template
            self._ready(template, verdict is None)
            status = template_status(template, verdict, self._state.namespaces, stamp(self._now()))
            if status == template.get("status"):
                return
            kind: Kind = KINDS[template["kind"]]
            marks = {"uid": uid, "resourceVersion": metadata["resourceVersion"]}
            resource = await self._cluster.resource(kind.api_version, kind.kind)
            patch = {"metadata": marks, "status": status}
            await self._cluster.merge_patch(
                resource, metadata.get("namespace") or "", metadata["name"], patch, subresource="status"
            )
        except Stale:
            # A newer state is on its way through the watch; if only its status differs, nobody brings it back here.
            self._later(uid, PAUSE)
        except Problem as problem:
            name = KINDS[template["kind"]].title(template)
            log.warning("template status not written", template=name, reason=str(problem.reason), message=str(problem))
            self._later(uid, PAUSE)

    async def _verdict(self, uid: str, template: Manifest) -> Invalid | None:
        """What is wrong with this generation of a template; a sound one is judged once. Raises Unavailable."""
        generation = template["metadata"].get("generation", 0)
        if self._sound.get(uid) == generation:
            return None
        try:
            await judge(template, self._check)
        except Invalid as problem:
            self._later(uid, AGAIN)
            return problem
        self._sound[uid] = generation
        return None

    def _later(self, uid: str, seconds: float) -> None:
        self._stop(uid)
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, self.changed, uid)

    def _stop(self, uid: str) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _forget(self, uid: str) -> None:
        self._sound.pop(uid, None)
        self._stop(uid)
        gone = self._told.pop(uid, None)
        if gone is not None:
            self._ready(gone, None)


def template_status(template: Manifest, problem: Invalid | None, namespaces: Mapping[str, Manifest], now: str) -> Manifest:
    """The status of a template of which `problem` is known (None: it is sound). Pure.

    While a global template is not Ready its list of namespaces is empty, so that what it once allowed gives nothing.
    """
    ready = "True" if problem is None else "False"
    before = {condition["type"]: condition for condition in (template.get("status") or {}).get("conditions") or ()}
    same = before.get("Ready", {}).get("status") == ready
    generation = template["metadata"].get("generation", 0)
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": str(Reason.SUCCEEDED if problem is None else Reason.FAILED),
        "message": "; ".join(["reconciled", *warnings(template)]) if problem is None else str(problem),
        "observedGeneration": generation,
        "lastTransitionTime": before["Ready"]["lastTransitionTime"] if same else now,
    }
    status: dict[str, Any] = {"observedGeneration": generation, "conditions": [condition]}
    if template["kind"] == GLOBAL:
        status["namespaces"] = [] if problem else where(template, namespaces)
    return status


def where(template: Manifest, namespaces: Mapping[str, Manifest]) -> list[str]:
    """The names of the namespaces that a sound global template selects, sorted; `*` alone for all."""
    parsed: globalresourcepermittemplate.GlobalResourcePermitTemplate = KINDS[GLOBAL].parse(template)
    if parsed.spec.namespace_selectors is None:
        return [EVERYWHERE]
    selectors = [selector.lower() for selector in parsed.spec.namespace_selectors]
    labels = {name: manifest["metadata"].get("labels") or {} for name, manifest in namespaces.items()}
    return sorted(name for name, has in labels.items() if any(selector.matches(has) for selector in selectors))
