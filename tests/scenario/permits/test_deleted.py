"""A permit that somebody deletes while it gives access."""

from tests.support.api import ref
from tests.support.permits import Permits


def test_a_deleted_permit_ends_and_its_record_says_so(permits: Permits) -> None:
    """An administrator may delete it: the access goes at once, and what is kept until `keepUntil` tells how it ended."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(permits.template(defaultDuration="1h", keepFor="1h"))
    permits.approve(permit)
    permits.reaches(permit, "Active")
    stage.api.delete(permit).expect(200, 202)
    stage.gone(ref("v1", "ConfigMap", "temporary", permits.home))
    kept = permits.reaches(permit, "Expired")
    assert kept["status"]["transitions"][-1]["reason"] == "Deleted"
    assert kept["metadata"]["deletionTimestamp"]
