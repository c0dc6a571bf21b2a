"""Hooks of one session: its events, the hooks of its settings, and what is reported of them."""
