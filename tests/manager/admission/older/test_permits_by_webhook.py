"""What the policies over permits say, asked of our webhook: the same verdicts, in the same words."""

from tests.manager.admission.test_permit_policies import *  # noqa: F403 - every test of the policy is one of the webhook
