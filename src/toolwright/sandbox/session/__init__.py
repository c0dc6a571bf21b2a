"""The sandbox and the cage of one session: from settings and permission rules to their policies."""
