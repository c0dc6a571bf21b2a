"""What options and settings became: plain values, made once when a session starts."""
