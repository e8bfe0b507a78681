"""Patches of three types, and what they are applied to."""

from typing import Any

Manifest = dict[str, Any]

CONFIG: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "patched",
        "labels": {"a": "1", "b/c": "2"},
        "annotations": {"one": "1"},
        "finalizers": ["a.example.com/1", "b.example.com/2", "c.example.com/3"],
    },
    "data": {"a": "1", "b": "2"},
}

JSON_PATCHES: dict[str, Any] = {
    "nothing": [],
    "a value added": [{"op": "add", "path": "/data/c", "value": "3"}],
    "a value added over one": [{"op": "add", "path": "/data/a", "value": "3"}],
    "a value replaced": [{"op": "replace", "path": "/data/a", "value": "3"}],
    "a value replaced that is not there": [{"op": "replace", "path": "/data/z", "value": "3"}],
    "a value removed": [{"op": "remove", "path": "/data/a"}],
    "a value removed that is not there": [{"op": "remove", "path": "/data/z"}],
    "a slash in a key": [{"op": "replace", "path": "/metadata/labels/b~1c", "value": "x"}],
    "a path that leads nowhere": [{"op": "add", "path": "/gone/c", "value": "3"}],
    "a path without a slash": [{"op": "add", "path": "x/data/c", "value": "3"}],
    "the empty path": [{"op": "add", "path": "", "value": {}}],
    "no path": [{"op": "add", "value": "3"}],
    "no operation": [{"path": "/data/c"}],
    "an unknown operation": [{"op": "append", "path": "/data/c", "value": "3"}],
    "an item appended": [{"op": "add", "path": "/metadata/finalizers/-", "value": "d.example.com/4"}],
    "an item inserted": [{"op": "add", "path": "/metadata/finalizers/1", "value": "d.example.com/4"}],
    "an item after the last": [{"op": "add", "path": "/metadata/finalizers/3", "value": "d.example.com/4"}],
    "an item far beyond": [{"op": "add", "path": "/metadata/finalizers/5", "value": "d.example.com/4"}],
    "an item counted from the end": [{"op": "add", "path": "/metadata/finalizers/-1", "value": "d.example.com/4"}],
    "an item counted from before the beginning": [{"op": "remove", "path": "/metadata/finalizers/-4"}],
    "an item replaced": [{"op": "replace", "path": "/metadata/finalizers/0", "value": "d.example.com/4"}],
    "an item that is not there": [{"op": "replace", "path": "/metadata/finalizers/3", "value": "d.example.com/4"}],
    "an item by name": [{"op": "remove", "path": "/metadata/finalizers/first"}],
    "an item removed from the end": [{"op": "remove", "path": "/metadata/finalizers/-"}],
    "a value moved": [{"op": "move", "from": "/data/a", "path": "/data/c"}],
    "a value moved from nowhere": [{"op": "move", "from": "/data/z", "path": "/data/c"}],
    "a value copied": [{"op": "copy", "from": "/data/a", "path": "/data/c"}],
    "a map copied": [{"op": "copy", "from": "/data", "path": "/binaryData"}, {"op": "remove", "path": "/binaryData"}],
    "an item moved": [{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/2"}],
    "a test that holds": [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}],
    "a test that fails": [{"op": "test", "path": "/data/a", "value": "2"}],
    "a test of what is not there": [{"op": "test", "path": "/data/z", "value": "2"}],
    "a test for null of what is not there": [{"op": "test", "path": "/data/z", "value": None}],
    "a test of a map": [{"op": "test", "path": "/data", "value": {"b": "2", "a": "1"}}],
    "a test of another type": [{"op": "test", "path": "/data/a", "value": 1}],
    "a test of a list": [{"op": "test", "path": "/metadata/finalizers", "value": ["a.example.com/1"]}],
    "an object and no list": {"op": "add", "path": "/data/c", "value": "3"},
    "a list of strings": ["add"],
    "an operation that is a number": [{"op": 1, "path": "/data/c"}],
    "a path that is a number": [{"op": "add", "path": 1, "value": "3"}],
    "map and all": [{"op": "replace", "path": "/data", "value": {"x": "y"}}],
}

MERGE_PATCHES: dict[str, Any] = {
    "nothing": {},
    "a value": {"data": {"c": "3"}},
    "a value removed": {"data": {"a": None}},
    "everything removed": {"data": None},
    "a null for what is not there": {"data": {"z": None}},
    "a list replaced": {"metadata": {"finalizers": ["x.example.com/1"]}},
    "a new map with nulls": {"binaryData": {"x": None, "y": "YQ=="}},
    "a list and no map": [{"data": {}}],
    "labels removed": {"metadata": {"labels": None}},
}

WORKLOAD: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "patched", "labels": {"a": "1"}},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "a:1",
                        "args": ["1", "2"],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}],
                        "ports": [{"containerPort": 80}, {"containerPort": 81}],
                        "resources": {"limits": {"cpu": "1"}},
                    },
                    {"name": "b", "image": "b:1"},
                    {"name": "c", "image": "c:1"},
                ],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "w"}}],
                "tolerations": [{"key": "a"}, {"key": "b"}],
                "nodeSelector": {"x": "y"},
            },
        },
    },
}


def pod(**spec: Any) -> Manifest:
    """A patch of the pod template."""
    return {"spec": {"template": {"spec": spec}}}


def container(**fields: Any) -> Manifest:
    """A patch of the container `a`."""
    return pod(containers=[{"name": "a"} | fields])


STRATEGIC_PATCHES: dict[str, Any] = {
    "nothing": {},
    "an image": container(image="a:2"),
    "a new container": pod(containers=[{"name": "d", "image": "d:1"}]),
    "a new container before a known one": pod(containers=[{"name": "d", "image": "d:1"}, {"name": "a", "image": "a:2"}]),
    "a container deleted": pod(containers=[{"name": "b", "$patch": "delete"}]),
    "a container deleted that is not there": pod(containers=[{"name": "z", "$patch": "delete"}]),
    "containers replaced": pod(containers=[{"$patch": "replace"}, {"name": "d", "image": "d:1"}]),
    "an unknown order": pod(containers=[{"name": "b", "$patch": "shuffle"}]),
    "a container without a name": pod(containers=[{"image": "d:1"}]),
    "a deletion without a name": pod(containers=[{"$patch": "delete"}]),
    "a merged list": pod(containers=[{"$patch": "merge"}]),
    "an order of containers": pod(**{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}),
    "an order of some containers": pod(**{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}),
    "an order with a new container": pod(
        **{
            "$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}, {"name": "b"}],
            "containers": [{"name": "d", "image": "d:1"}],
        }
    ),
    "an order with a deleted container": pod(
        **{
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "b", "$patch": "delete"}, {"name": "a", "image": "a:3"}],
        }
    ),
    "an order beside a deletion and a new container": pod(
        **{
            "$setElementOrder/containers": [{"name": "e"}, {"name": "a"}],
            "containers": [{"name": "b", "$patch": "delete"}, {"name": "e", "image": "e:1"}],
        }
    ),
    "an order that ends before a replacement": pod(
        **{
            "$setElementOrder/containers": [{"name": "d"}, {"name": "b"}],
            "containers": [{"name": "b", "image": "b:3"}, {"$patch": "replace"}],
        }
    ),
    "an order that the patch does not follow": pod(
        **{
            "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
            "containers": [{"name": "b", "image": "b:2"}, {"name": "a", "image": "a:2"}],
        }
    ),
    "an order without what the patch has": pod(
        **{"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "d", "image": "d:1"}]}
    ),
    "a variable changed, one deleted, one added": container(
        env=[{"name": "B", "value": "9"}, {"name": "C", "$patch": "delete"}, {"name": "D", "value": "4"}]
    ),
    "an order of variables": container(**{"$setElementOrder/env": [{"name": "C"}, {"name": "A"}, {"name": "B"}]}),
    "a port": container(ports=[{"containerPort": 81, "name": "web"}, {"containerPort": 82}]),
    "an atomic list": container(args=["3"]),
    "a null in a container": container(args=None),
    "a limit": container(resources={"limits": {"memory": "1Gi"}}),
    "limits replaced": container(resources={"limits": {"$patch": "replace", "memory": "1Gi"}}),
    "limits deleted": container(resources={"limits": {"$patch": "delete"}}),
    "a map with an unknown order": container(resources={"limits": {"$patch": "shuffle"}}),
    "a volume of another kind": pod(volumes=[{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]),
    "keys kept that do not match": pod(volumes=[{"name": "v", "$retainKeys": ["name"], "secret": {"secretName": "s"}}]),
    "keys kept that are no list": {"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}},
    "another strategy": {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    "tolerations, a list without a key": pod(tolerations=[{"key": "c"}]),
    "a selector of nodes": pod(nodeSelector={"x": None, "z": "1"}),
    "finalizers merged": {"metadata": {"finalizers": ["b.example.com/2", "d.example.com/4"]}},
    "finalizers deleted": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b.example.com/2"]}},
    "finalizers ordered": {
        "metadata": {
            "$setElementOrder/finalizers": ["c.example.com/3", "e.example.com/5", "a.example.com/1"],
            "finalizers": ["e.example.com/5"],
        }
    },
    "finalizers deleted and ordered": {
        "metadata": {
            "$deleteFromPrimitiveList/finalizers": ["a.example.com/1"],
            "$setElementOrder/finalizers": ["c.example.com/3", "b.example.com/2"],
        }
    },
    "a deletion without a name of a list": {"metadata": {"$deleteFromPrimitiveList": ["a.example.com/1"]}},
    "an order without a name of a list": {"metadata": {"$setElementOrder": ["a.example.com/1"]}},
    "an order that is no list": {"metadata": {"$setElementOrder/finalizers": "a"}},
    "mixed types": {"metadata": {"finalizers": ["b.example.com/2", 3]}},
    "a list in a list": {"metadata": {"finalizers": [["b.example.com/2"]]}},
    "labels and annotations": {"metadata": {"labels": {"a": None, "b": "2"}, "annotations": {"x": "y", "z": None}}},
    "a list and no map": [1],
}
