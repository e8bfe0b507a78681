"""A Kubernetes API server in this process: for laptops, previews, examples and tests.

A request goes one way, and everything between its body and its answer is synchronous, so that a write is one step:

    http.py -> authentication -> impersonation -> authorization -> verbs.py -> mutate (patch, apply) -> admission -> store

| Module | Is the home of |
| --- | --- |
| `cluster.py` | `Embedded`: everything below as one value |
| `http.py`, `tls.py`, `faults.py` | request and response, watches as streams; what tests do to them |
| `server.py`, `assembly.py` | the chain above, and which parts it is made of |
| `verbs.py`, `lifecycle.py`, `changing.py`, `subresources.py` | what each verb means |
| `body.py`, `gojson.py`, `protobuf.py` | how a body is read |
| `presenting.py`, `paging.py`, `watching.py` | how an answer is shown |
| `served.py`, `registry.py`, `discovery.py`, `published.py` | which resources are served |
| `schema.py`, `openapi.py`, `structural.py`, `definitions.py`, `rules.py` | what a value may look like |
| `kinds/` | what the server does to built-in kinds: defaults, checks, columns |
| `fields.py`, `typed.py`, `merging.py`, `comparison.py`, `managed.py` | who owns which field: server-side apply |
| `patch.py`, `strategic.py` | the other patches |
| `store.py`, `journal.py` | objects, revisions, watches; on disk in SQLite |
| `auth/` | who asks, and whether he may |
| `policies/`, `webhooks/` | ValidatingAdmissionPolicies, and webhooks by URL |
| `controllers/` | what a control plane does by itself: garbage collection, namespaces, definitions |
| `data/` | facts of the real server: schemas, Go types, default roles (written by `make facts`) |

Where it differs from a real server it is wrong, but for the list in docs/embedded.md.
"""
