"""What a control plane does by itself: it reacts to changes of the store, between requests.

| Module | Looks after |
| --- | --- |
| `definitions.py` | CustomResourceDefinitions: their names, their service, their end |
| `namespaces.py` | what a new namespace holds, and the end of one |
| `aggregation.py` | the rules of aggregated ClusterRoles |
| `slices.py` | the EndpointSlices of Services |
| `collector.py` | objects whose owners are gone |

There are no controllers of workloads here: Deployments make nothing, and no Pod runs.
"""

from manager.embedded.controllers.controllers import Controllers

__all__ = ["Controllers"]
