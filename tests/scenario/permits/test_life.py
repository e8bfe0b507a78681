"""The life of a permit from its request to its end, as the people involved see it."""

from tests.support.api import ref
from tests.support.permits import Permits


def test_a_permit_is_reviewed_given_and_taken_back(permits: Permits) -> None:
    """Asked for by alice, approved by bob, given, ended by bob, gone."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template(defaultDuration="1h", keepFor="1h")
    asked = permits.asked(template)
    assert asked["spec"]["requester"]["name"] == permits.alice
    assert [row["verb"] for row in asked["status"]["preview"]] == ["Create"]
    permits.approve(asked, review={"digest": asked["status"]["request"]["digest"], "message": "fine"})
    active = permits.reaches(asked, "Active")
    target = ref("v1", "ConfigMap", "temporary", permits.home)
    assert stage.read(target)["data"] == {"for": asked["metadata"]["name"]}
    assert active["status"]["review"]["reviewer"]["name"] == permits.bob
    assert active["status"]["active"]["until"]
    permits.patch(active, phase="Expired").expect(200)
    stage.gone(target)
    done = stage.becomes(asked, lambda live: live["status"]["conditions"][0]["reason"] == "Expired")
    assert [each["type"] for each in done["status"]["transitions"]] == [
        "Created",
        "Requested",
        "Approved",
        "Approved",
        "Active",
        "Expired",
    ]
    assert [each["type"] for each in manager.transitions] == [each["type"] for each in done["status"]["transitions"]]


def test_at_its_end_the_access_goes_by_itself(permits: Permits) -> None:
    """Without anybody, at `until`; and without `keepFor` the permit goes with it."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template(defaultDuration="1h")
    permit = permits.asked(template)
    permits.approve(permit)
    permits.reaches(permit, "Active")
    manager.clock.forward(hours=2)
    manager.call(_look)
    stage.gone(ref("v1", "ConfigMap", "temporary", permits.home))
    permits.ended(permit)


async def _look(controller: object) -> None:
    controller.gained()  # type: ignore[attr-defined]
