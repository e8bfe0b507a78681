"""What the writing verbs mean: create, update, patch, apply, delete. Each is one step between body and store.

The order is the real server's: decode, default, who owns what, the namespace, what the kind prepares and checks, policies,
store. https://kubernetes.io/docs/reference/using-api/api-concepts/ and the registry of k8s.io/apiserver.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import convert, managed, patch, structural
from manager.embedded.admission import CREATE, DELETE, UPDATE, Admission, Attempt
from manager.embedded.body import STRATEGIC, check_kind, registered
from manager.embedded.changing import go_json, go_text, patched, with_metadata
from manager.embedded.entries import keep_times
from manager.embedded.fields import FieldSet
from manager.embedded.kinds import customs
from manager.embedded.kinds.strategy import Strategy
from manager.embedded.lifecycle import (
    CLEANUP,
    CRDS,
    aged,
    asked,
    born,
    carried,
    check_preconditions,
    finalizers_of,
    finished,
    grace_of,
    is_ending,
    is_graceful,
    is_namespace,
    leaving,
    placed,
    same,
    uid_precondition,
)
from manager.embedded.notices import notices
from manager.embedded.presenting import in_version
from manager.embedded.rounds import NAMES
from manager.embedded.served import Served
from manager.embedded.status import (
    Cause,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from manager.embedded.store import Store, Stored
from manager.embedded.target import IGNORE, STRICT, WARN, DeleteOptions, Options, Target

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: no vowels, so no words."""


@dataclass(frozen=True, slots=True)
class Done:
    """A write that succeeded. `stored` is None when nothing is kept (a dry run), and `manifest` is what the client sees."""

    manifest: Manifest
    stored: Stored | None = None
    created: bool = False
    deleted: bool = False  # gone at once
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verbs:
    """The writing verbs on a store. `clock` gives the time, in UTC."""

    store: Store
    admission: Admission
    strategy: Callable[[Served], Strategy]
    clock: Callable[[], datetime]

    # Creating.

    def create(self, target: Target, body: Any, options: Options) -> Done:
        """POST. `target` has no name: it is in the body."""
        served = target.served
        new, warnings = self._decoded(served, check_kind(body, served), options)
        metadata = new["metadata"]
        if metadata.get("resourceVersion") and not options.dry_run:
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        new = placed(new, target)
        target = target.named(metadata.get("name") or "")
        new = self._default(served, new)
        new = self._owned(None, new, target, options)
        return self._create(target, new, options, warnings)

    def _create(self, target: Target, new: Manifest, options: Options, warnings: tuple[str, ...]) -> Done:
        now = self.clock()
        strategy = self.strategy(target.served)
        self.admission.arrive(target)
        new, told = self._shaped(CREATE, target, options, new, None)
        target = target if target.name else target.named(new["metadata"].get("name") or "")
        if not target.name and new["metadata"].get("generateName"):
            target = target.named(self._generated(target, new["metadata"]["generateName"]))
        self.admission.guard(_attempt(CREATE, target, options, new, None))
        new = strategy.admit(born(new, target, now), self.store.manifests)
        new = strategy.prepare_create(new, now)
        new = strategy.allot(new, None, lambda: self.store.manifests(target.key.resource))
        _check(strategy.validate(new), target)
        if self.store.get(target.key) is not None:
            raise already_exists(target.about)
        said = self._judge(CREATE, target, options, new, None)
        warnings = (*warnings, *told, *notices(target.served, new), *strategy.warnings(new), *said)
        if options.dry_run:
            return Done(new, created=True, warnings=warnings)
        return self._put(target, new, created=True, warnings=warnings)

    def _generated(self, target: Target, prefix: str) -> str:
        known = NAMES.get()
        names = {} if known is None else known
        key = f"{target.key.resource}/{target.namespace}/{prefix}"
        while True:
            made = prefix[:58] + "".join(random.choices(SUFFIX, k=5))  # noqa: S311 - a name, no secret
            name = names.pop(key, made)
            if self.store.get(target.named(name).key) is None:
                names[key] = name
                return name

    # Updating.

    def update(self, target: Target, body: Any, options: Options) -> Done:
        """PUT, on the object or its status."""
        served = target.served
        new, warnings = self._decoded(served, check_kind(body, served), options)
        metadata = new["metadata"]
        _check_named(new, target)
        new = placed(new, target)
        live = self._live(target)
        if live is None:
            return self._put_anew(target, new, options, warnings)
        uid = metadata.get("uid")
        if uid and uid != live["metadata"]["uid"]:
            raise conflict(target.about, uid_precondition(target, uid, live["metadata"]["uid"]))
        new = self._default(served, new)
        new = self._owned(live, carried(new, live), target, options)
        return self._update(target, new, live, options, warnings)

    def _put_anew(self, target: Target, new: Manifest, options: Options, warnings: tuple[str, ...]) -> Done:
        if target.subresource or not self.strategy(target.served).create_on_update:
            raise not_found(target.about)
        uid = new["metadata"].get("uid")
        if uid:
            raise conflict(target.about, uid_precondition(target, uid, ""))
        new = self._owned(None, self._default(target.served, new), target, options)
        return self._create(target, new, options, warnings)

    def patch(self, target: Target, media: str, change: Any, options: Options) -> Done:
        """PATCH with a JSON patch, a merge patch or a strategic merge patch."""
        live = self._live(target)
        if live is None:
            raise not_found(target.about)
        made = patched(media, live, change, target.served)
        self._same_kind(made, target)
        new, warnings = self._read(target.served, media, change, made, options)
        _check_named(new, target)
        new = self._owned(live, self._default(target.served, placed(new, target)), target, options)
        return self._update(target, new, live, options, warnings)

    def _same_kind(self, patched: Any, target: Target) -> None:
        served = target.served
        if not isinstance(patched, dict):
            raise patch.undecodable(go_json(patched), "Object 'Kind' is missing in the patched object")
        if (patched.get("apiVersion"), patched.get("kind")) == (served.api_version, served.kind):
            return
        api_version, kind = str(patched.get("apiVersion") or ""), str(patched.get("kind") or "")
        said = f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {served.kind}'
        if not registered(api_version, kind):
            said = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise patch.undecodable(go_json(patched), said)

    def apply(self, target: Target, config: Any, options: Options) -> Done:
        """PATCH with server-side apply."""
        served = target.served
        if not isinstance(config, dict):
            raise bad_request("invalid object type: /, Kind=")
        group, _, version = str(config.get("apiVersion") or "").rpartition("/")
        if (config.get("apiVersion"), config.get("kind")) != (served.api_version, served.kind):
            raise bad_request(f"invalid object type: {group}/{version}, Kind={config.get('kind') or ''}")
        live = self._live(target)
        if live is None and target.subresource:
            raise not_found(target.about)
        config = asked(config)
        metadata = config["metadata"]
        if live is None and metadata.get("uid"):
            said = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(target.about, said)
        new = self._applied(target, live, config, options)
        _check_named(new, target)
        new = placed(new, target)
        if live is None:
            return self._create(target, new, options, ())
        return self._update(target, new, live, options, ())

    def _applied(self, target: Target, live: Manifest | None, config: Manifest, options: Options) -> Manifest:
        strategy = self.strategy(target.served)

        return managed.apply(
            live,
            config,
            schema=target.served.schema,
            api_version=target.served.api_version,
            manager=options.manager,
            force=options.force,
            now=self.clock(),
            subresource=target.subresource,
            reset=_reset(strategy, target.subresource),
            finish=strategy.finish,
        )

    def change(self, target: Target, make: Callable[[Manifest], Manifest], options: Options, *, owned: bool = True) -> Done:
        """Update an object by a function of what is there: what subresources and controllers do. Raises 404."""
        live = self._live(target)
        if live is None:
            raise not_found(target.about)
        new = make(live)
        return self._update(target, self._owned(live, new, target, options) if owned else new, live, options, ())

    def _update(self, target: Target, new: Manifest, live: Manifest, options: Options, warnings: tuple[str, ...]) -> Done:
        strategy = self.strategy(target.served)
        new, shaped = self._shaped(UPDATE, target, options, new, live)
        self._same_version(target, new, live, strategy)
        new = carried(new, live)
        self.admission.guard(_attempt(UPDATE, target, options, new, live))
        new = aged(new, live)
        if target.subresource == "status":
            new = strategy.prepare_status(new, live)
            _check(strategy.validate_status(new, live), target)
        elif target.subresource == "finalize":
            pass  # nothing but spec.finalizers can have changed
        else:
            new = strategy.prepare_update(new, live)
            new = strategy.allot(new, live, lambda: self.store.manifests(target.key.resource))
            _check(strategy.validate_update(new, live), target)
        said = self._judge(UPDATE, target, options, new, live)
        told = [] if target.subresource else [*notices(target.served, new, live), *strategy.warnings(new, live)]
        warnings = (*warnings, *shaped, *told, *said)
        stored = self.store.get(target.key)
        new = keep_times(new, live)
        if same(new, live):
            return Done(live, stored, warnings=warnings)
        if options.dry_run:
            return Done(new, warnings=warnings)
        if finished(new):
            # What is shown is the last state, which is never stored.
            self.store.delete(target.key)
            return Done(new, deleted=True, warnings=warnings)
        return self._put(target, new, warnings=warnings)

    def _same_version(self, target: Target, new: Manifest, live: Manifest, strategy: Strategy) -> None:
        version = new["metadata"].get("resourceVersion") or ""
        if version in ("", "0"):
            if strategy.unconditional_update:
                return
            cause = Cause("FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion")
            raise invalid(target.about, [cause])
        if version != live["metadata"]["resourceVersion"]:
            raise conflict(target.about)

    # Deleting.

    def delete(self, target: Target, how: DeleteOptions) -> Done:
        """DELETE of one object. When `deleted`, it is gone; else it waits for its finalizers, or for its time."""
        live = self._live(target)
        if live is None:
            raise not_found(target.about)
        check_preconditions(target, live, how)
        self.admission.leave(target)
        warnings = () if how.judged else self._judge_deletion(target, how, live)
        finalizers = [*finalizers_of(live, how), *(CLEANUP if target.key.resource == CRDS and not is_ending(live) else ())]
        waits = bool(finalizers) or bool((live.get("spec") or {}).get("finalizers") if is_namespace(target) else False)
        if not waits and not is_graceful(target, live, how):
            if not how.options.dry_run:
                self.store.delete(target.key)
            return Done(live, deleted=True, warnings=warnings)
        new = leaving(target, live, finalizers, self.clock(), grace_of(target, live, how))
        if same(new, live):
            return Done(live, self.store.get(target.key), warnings=warnings)
        if how.options.dry_run:
            return Done(new, warnings=warnings)
        return self._put(target, new, warnings=warnings)

    # Parts.

    def read(self, target: Target) -> Manifest:
        """The object in the version of its path. Raises 404."""
        live = self._live(target)
        if live is None:
            raise not_found(target.about)
        return live

    def _live(self, target: Target) -> Manifest | None:
        live = self.store.read(target.key)
        if live is None or live["apiVersion"] == target.served.api_version:
            return live
        return in_version(live, target.served)

    def _decoded(self, served: Served, body: Manifest, options: Options) -> tuple[Manifest, tuple[str, ...]]:
        """The object of a body. Raises 400."""
        if not options.doubts or options.validation == IGNORE:
            new, warnings = self.strategy(served).decode(body, field_validation=options.validation)
        else:
            new, unknown = self.strategy(served).decode(body, field_validation=WARN)
            warnings = [*options.doubts, *unknown]
            if options.validation == STRICT:
                said = f"strict decoding error: {', '.join(warnings)}"
                raise bad_request(f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {said}')
        return with_metadata(new, body), tuple(warnings)

    def _read(
        self, served: Served, media: str, change: Any, patched: Manifest, options: Options
    ) -> tuple[Manifest, tuple[str, ...]]:
        """The object that a patch made. Raises 422."""
        strategy, strategic = self.strategy(served), change if media == STRATEGIC else None
        if served.custom:
            # As Go shows it in an error: what has no type has its keys in their order.
            patched = orjson.loads(orjson.dumps(patched, option=orjson.OPT_SORT_KEYS))
        if not options.doubts or options.validation == IGNORE:
            new, warnings = strategy.decode_patched(patched, field_validation=options.validation, strategic=strategic)
        else:
            new, unknown = strategy.decode_patched(patched, field_validation=WARN, strategic=strategic)
            warnings = [*options.doubts, *unknown]
            if options.validation == STRICT:
                shown = go_text(change) if media == STRATEGIC else go_json(patched)
                raise patch.undecodable(shown, f"strict decoding error: {', '.join(warnings)}")
        return with_metadata(new, patched), tuple(warnings)

    def _default(self, served: Served, new: Manifest) -> Manifest:
        return self.strategy(served).default(new)

    def _owned(self, live: Manifest | None, new: Manifest, target: Target, options: Options) -> Manifest:
        return managed.update(
            live,
            new,
            schema=target.served.schema,
            api_version=target.served.api_version,
            manager=managed.manager_of(options.agent, options.manager),
            now=self.clock(),
            subresource=target.subresource,
            reset=_reset(self.strategy(target.served), target.subresource),
        )

    def _shaped(
        self, operation: str, target: Target, options: Options, new: Manifest, old: Manifest | None
    ) -> tuple[Manifest, tuple[str, ...]]:
        """The object as mutating webhooks want it, with defaults; whose the fields are is not looked at again."""
        made, warnings = self.admission.shape(_attempt(operation, target, options, new, old), new)
        return (new if made is new else self._default(target.served, made)), warnings

    def _judge(
        self, operation: str, target: Target, options: Options, new: Manifest | None, old: Manifest | None
    ) -> tuple[str, ...]:
        return self.admission.judge(_attempt(operation, target, options, new, old))

    def _judge_deletion(self, target: Target, how: DeleteOptions, live: Manifest) -> tuple[str, ...]:
        options = how.options
        if is_namespace(target) and how.uid is None:
            # The real one adds the uid by itself, since a namespace goes in several steps.
            options = replace(options, further=options.further | {"preconditions": {"uid": live["metadata"]["uid"]}})
        return self._judge(DELETE, target.named("") if how.collection else target, options, None, live)

    def _put(self, target: Target, new: Manifest, *, created: bool = False, warnings: tuple[str, ...] = ()) -> Done:
        served = target.served
        if served.custom and isinstance(new.get("items"), list):
            # The real one stores it and fails when it wants to tell; here nothing is kept that nobody can read.
            raise StatusError(500, "", "*unstructured.Unstructured is not a list: no Items field in this object")
        if served.custom:
            new = customs.whole_numbers(structural.drop_nulls(served.schema, new))
        if served.resource in convert.STORED:
            new = convert.stored(new)
        elif served.storage not in ("", served.version):
            kept = f"{served.group}/{served.storage}" if served.group else served.storage
            new = new | {"apiVersion": kept}
        stored = self.store.put(target.key, new)
        return Done(in_version(self.store.decode(stored), served), stored, created=created, warnings=warnings)


def _attempt(operation: str, target: Target, options: Options, new: Manifest | None, old: Manifest | None) -> Attempt:
    return Attempt(operation, target, options.user, new, old, options.dry_run, options.manifest())


def _reset(strategy: Strategy, subresource: str) -> FieldSet:
    return strategy.reset.get(subresource, managed.NOTHING)


def _check(causes: list[Cause], target: Target) -> None:
    if causes:
        raise invalid(target.kind, causes)


def _check_named(new: Manifest, target: Target) -> None:
    if not new["metadata"].get("name"):
        raise bad_request(f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided")
