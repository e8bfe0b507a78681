"""Example folders: documentation, a test and something to start from, in one; `copyhold test` runs them."""
