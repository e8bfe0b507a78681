"""What shall happen: pure and synchronous. No clock, no network, no files."""
