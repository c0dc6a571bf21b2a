"""What holds a sandbox: bubblewrap, Landlock, Seatbelt. Each makes of a policy what to start instead of the command."""
