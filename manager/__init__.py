"""Makes it happen: the only package with clock, files and cluster."""
