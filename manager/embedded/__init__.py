"""A Kubernetes API server in this process: for laptops, previews, examples and tests.

A request goes one way, and everything between its body and its answer is synchronous, so that a write is one step:

    http.py -> authentication -> impersonation -> authorization -> verbs.py -> mutate (patch, apply) -> admission -> store

| Module | Is the home of |
| --- | --- |
| `http.py` | TLS, request and response, watches as streams |
| `server.py` | the chain above; `verbs.py`: what each verb means |
| `served.py`, `registry.py` | which resources are served: the built-in ones and those of definitions |
| `schema.py`, `openapi.py`, `structural.py` | what a value may look like: of built-in kinds, of definitions |
| `kinds/` | what the server does to built-in kinds: defaults, checks, columns |
| `fields.py`, `typed.py`, `managed.py` | who owns which field: server-side apply |
| `store.py` | objects, revisions, watches; in memory or in SQLite |
| `auth/` | who asks, and whether he may |
| `policies.py` | ValidatingAdmissionPolicies |
| `controllers/` | what a control plane does by itself: garbage collection, namespaces, definitions |
| `data/` | facts of the real server: schemas, resources, default roles (written by `tests/realserver/facts.py`) |

Where it differs from a real server it is wrong, but for the list in docs/embedded.md.
"""
