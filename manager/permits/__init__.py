"""Permits: temporary access, approved and provable."""
