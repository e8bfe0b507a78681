"""What the API server itself refuses on our behalf: generated policies that hold while no replica of ours runs."""
