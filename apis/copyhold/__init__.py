"""The native family, `copyhold.dev`: one file per kind, and the parts that the kinds share."""

VERSION = "v1alpha1"
