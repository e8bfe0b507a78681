"""What the server does to the kinds that it knows: reading, defaults, checks, columns.

| Module | Is the home of |
| --- | --- |
| `strategy.py` | the way of an object from a body to the store; `kind.py`, `table.py`: the facts of each kind |
| `types.py`, `codec.py`, `reading.py` | how Go reads a body, and its words for what it does not take |
| `defaults.py` | the defaults, by Go type |
| `metadata.py`, `names.py`, `values.py` | rules that many kinds share |
| `*_checks.py`, `podspec.py`, `secrets.py`, `configmaps.py`, `namespaces.py` | rules of kinds, in the words of the server |
| `pods.py`, `services.py`, `jobs.py`, `claims.py` ... | what the server adds to new objects, and keeps of old ones |
| `plugins.py`, `warnings.py` | what new objects take over from others; what is said of what is taken |
| `tables.py`, `rows.py`, `pod_row.py`, `cells.py`, `jsonpath.py` | what `kubectl get` shows |

Facts are taken from a running server and from the Go types (`tests/realserver/gotypes.py`). `tests/contract/test_kinds.py`
compares all of it with the real server.
"""
