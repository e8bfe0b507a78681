"""The look at the manager's own rights before it begins."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from apis.meta import PARENT_EXTRA, Manifest
from apis.problems import Forbidden
from manager.powers import check
from manager.world import Cluster, Resource


@dataclass
class Answering:
    """A cluster that answers one question, or refuses to."""

    answer: Manifest | Forbidden
    asked: list[Manifest] = field(default_factory=list)

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Answer the review."""
        assert (resource.plural, namespace) == ("selfsubjectaccessreviews", "")
        self.asked.append(manifest["spec"])
        if isinstance(self.answer, Forbidden):
            raise self.answer
        return manifest | {"status": self.answer}


async def looked(answer: Any) -> Answering:
    """The cluster after the look."""
    cluster = Answering(answer)
    await check(cast(Cluster, cluster))
    return cluster


async def test_who_may_act_for_parents_begins() -> None:
    """The question is about the extra, in no namespace."""
    [asked] = (await looked({"allowed": True})).asked
    attributes = asked["resourceAttributes"]
    assert "namespace" not in attributes
    assert (attributes["verb"], attributes["resource"], attributes["subresource"]) == ("impersonate", "userextras", PARENT_EXTRA)


@pytest.mark.parametrize("status", [{"allowed": False}, {"allowed": False, "denied": True}, {}, None])
async def test_who_may_not_is_told_which_right_to_give_and_how(status: Any) -> None:
    """What is not allowed is refused, with the right, the way to give it, and what brings it."""
    with pytest.raises(Forbidden, match=r"needs the verb impersonate on userextras/.* by a ClusterRoleBinding .*apply -k"):
        await looked(status)


async def test_a_server_that_does_not_say_keeps_nobody_from_beginning() -> None:
    """Not to be allowed to ask is no answer."""
    assert len((await looked(Forbidden("no"))).asked) == 1
