"""Webhooks: what servers outside make of a write and say of it, which is handled in one synchronous step all the same.

Who needs an answer from outside raises `Unanswered`. Whoever handles the request asks, and handles it anew with the answers at
hand (`answered`); the store has not been touched meanwhile. An answer counts for the very object that was asked about. Mutating
webhooks are asked one after the other, since each sees what the one before it made; validating ones together.

| Module | Is the home of |
| --- | --- |
| `hook.py` | one webhook of a stored configuration, and which requests it is about |
| `review.py` | the AdmissionReview that it is sent, and what its answer means |
| `webhooks.py` | all stored webhooks, asked of every write |
| `asking.py` | the calls, over HTTPS |

Mutating webhooks are asked about creations and updates, and not about deletions and about `scale`.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from manager.embedded.webhooks.asking import answered, ask
from manager.embedded.webhooks.webhooks import Unanswered, Webhooks

__all__ = ["Unanswered", "Webhooks", "answered", "ask"]
