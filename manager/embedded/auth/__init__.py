"""Who asks, as whom, and whether he may: what stands between a request and its verb.

| Module | Is the home of |
| --- | --- |
| `objects.py` | what is read of the store |
| `authenticate.py` | a request's token -> a User; `tokens.py`: the tokens of ServiceAccounts |
| `impersonation.py` | a User -> the User whom he acts as |
| `rbac.py` | whether a User may: Roles, ClusterRoles and their bindings (`rule.py`: one rule) |
| `escalation.py` | whether a User may give rights away |
| `reviews.py` | the same questions, asked by clients |
| `refusal.py` | how a refusal is worded |
"""
