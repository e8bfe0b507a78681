"""Groups and their inputs become manifests, in worker processes. Light on purpose: every worker imports it."""
