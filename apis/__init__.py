"""What users write: data. This package imports nothing of ours."""
