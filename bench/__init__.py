"""What the manager costs, measured on a real API server beside a bare loop that sends the same requests."""
