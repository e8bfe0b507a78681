"""The main job in one breath."""

from tests.support.stage import Stage, config_map, group


def test_a_global_resource_reaches_every_namespace_of_the_selected_tenants_and_goes_with_its_parent(stage: Stage) -> None:
    """Given, followed by a namespace that joins, and taken back exactly."""
    tenant = stage.tenant(plan=stage.mark)
    first, second = stage.namespace("a", tenant), stage.namespace("b", tenant)
    stage.manager()
    parent = stage.global_resource(
        "hello",
        group(config_map("hello", {"where": "{{ namespace.metadata.name }}"})),
        tenantSelector={"matchLabels": {"plan": stage.mark}},
    )
    stage.ready(parent)
    for namespace in (first, second):
        assert stage.there(config_map("hello", namespace=namespace))["data"] == {"where": namespace}
    third = stage.namespace("c", tenant)
    assert stage.there(config_map("hello", namespace=third))["data"] == {"where": third}
    stage.delete(parent)
    for namespace in (first, second, third):
        stage.gone(config_map("hello", namespace=namespace))
