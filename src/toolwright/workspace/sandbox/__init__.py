"""The sandbox of commands: what they may touch (policy), who holds them to it (mechanisms), and how to check it (probes)."""
