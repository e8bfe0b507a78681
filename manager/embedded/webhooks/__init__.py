"""Validating webhooks: what servers outside say of a write, which is handled in one synchronous step all the same.

A judge that needs an answer from outside raises `Unanswered`. Whoever handles the request asks, and handles it anew with the
answers at hand (`answered`); the store has not been touched meanwhile. An answer counts for the very object that was asked about.

| Module | Is the home of |
| --- | --- |
| `hook.py` | one webhook of a stored configuration, and which requests it is about |
| `review.py` | the AdmissionReview that it is sent, and what its answer means |
| `webhooks.py` | all stored webhooks, as a judge |
| `asking.py` | the calls, over HTTPS |

Mutating webhooks are stored and not called.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from manager.embedded.webhooks.asking import answered, ask
from manager.embedded.webhooks.webhooks import Unanswered, Webhooks

__all__ = ["Unanswered", "Webhooks", "answered", "ask"]
