"""Whatever docs/permits.md says of phases, templates, conditions and commands is so, and it leaves none of them out."""

import re

import pytest
import yaml
from pydantic import BaseModel

from apis.copyhold.permitstatus import Actor, Phase
from apis.copyhold.permittemplate import Approvals, Approver, PermitTemplateSpec
from apis.copyhold.resourcepermittemplate import ResourcePermitTemplateSpec
from apis.meta import Manifest
from manager.permits.commands import permit
from manager.permits.templatecheck import judge, warnings
from manager.render.pool import Renderer
from policy.permits import why
from policy.permits.approvals import check_conditions
from policy.permits.grants import LISTS, TEXTS
from tests.docs.pages import DOCS, table

TEXT = (DOCS / "permits.md").read_text()
[TEMPLATE] = [yaml.safe_load(found) for found in re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)]
ACTORS = [{"type": kind} for kind in ("User", "ServiceAccount", "System")]


def fields(model: type[BaseModel]) -> list[str]:
    """The fields of a model, as users write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        pytest.param(ResourcePermitTemplateSpec, TEMPLATE["spec"], id="spec"),
        pytest.param(PermitTemplateSpec, TEMPLATE["spec"], id="both kinds"),
        pytest.param(Approvals, TEMPLATE["spec"]["approvals"], id="approvals"),
        pytest.param(Approver, TEMPLATE["spec"]["approvals"]["approvers"][0], id="approver"),
    ],
)
def test_the_template_shows_every_field(model: type[BaseModel], shown: Manifest) -> None:
    """Also one that is added later."""
    assert set(fields(model)) <= shown.keys()


async def test_permits_can_be_made_from_the_template() -> None:
    """Its schema, conditions and templates are sound, and there is nothing that its author should know."""
    renderer = Renderer()
    try:
        await judge(TEMPLATE, renderer.check)
    finally:
        await renderer.close()
    assert warnings(TEMPLATE) == []


def test_every_phase_has_a_row() -> None:
    """But for the one that is never set."""
    rows = " ".join(row[0] for row in table(TEXT, "phase"))
    assert [phase for phase in Phase if f"`{phase}`" not in rows and phase != Phase.PENDING] == []


def test_every_reason_of_a_transition_is_explained() -> None:
    """Those that name an actor once for each that there is."""
    by = [(why.created_by, 2), (why.approved_by, 3), (why.retry_permitted_by, 2), (why.expired_by, 3)]
    reasons = [*why.Why, *(reason(actor) for reason, kinds in by for actor in ACTORS[:kinds])]
    rows = " ".join(row[0] for row in table(TEXT, "reason"))
    assert [reason for reason in reasons if f"`{reason}`" not in rows] == []


def test_the_conditions_compile() -> None:
    """Each row is an approval condition."""
    check_conditions([row[0].strip("`") for row in table(TEXT, "condition")])


def test_every_key_of_a_grant_is_explained() -> None:
    """Whatever a condition can read of a row."""
    rows = " ".join(row[0] for row in table(TEXT, "key"))
    assert [key for key in (*TEXTS, *LISTS) if f"`{key}`" not in rows] == []


def test_every_key_of_a_person_is_named() -> None:
    """Whatever a condition can read of requester and reviewer."""
    [line] = [line for line in TEXT.splitlines() if line.startswith("Conditions are [CEL]")]
    assert [key for key in fields(Actor) if f"`{key}`" not in line] == []


def test_every_command_has_a_row() -> None:
    """Of the group `copyhold permit`."""
    rows = " ".join(row[0] for row in table(TEXT, "command"))
    assert [name for name in permit.commands if not re.search(rf"\b{name}\b", rows)] == []
