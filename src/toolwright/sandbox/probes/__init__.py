"""Attempts to get out of a sandbox, for real, to see whether it holds on this machine."""
