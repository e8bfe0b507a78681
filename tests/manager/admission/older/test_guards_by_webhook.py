"""What the guards of accounts, tenants and records say, asked of our webhook: the same verdicts, in the same words."""

from tests.manager.admission.test_guards import *  # noqa: F403 - every test of the policy is one of the webhook
