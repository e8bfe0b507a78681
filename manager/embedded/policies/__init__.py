"""ValidatingAdmissionPolicies: what an administrator forbids by CEL, asked of every write that a policy is bound to.

| Module | Is the home of |
| --- | --- |
| `request.py` | what is asked: the request as admission sees it |
| `matching.py` | which requests a policy or a binding is about, without any CEL |
| `policy.py` | a compiled policy and what it says of a request; `scope.py`: the variables of an evaluation |
| `params.py` | the objects that a binding gives to its policy |
| `policies.py` | all stored policies, asked in order |
| `checks.py` | what is wrong with a policy or a binding itself |

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ and the behaviour of the real server.
"""

from manager.embedded.policies.policies import Policies
from manager.embedded.policies.request import AdmissionRequest

__all__ = ["AdmissionRequest", "Policies"]
