"""Shell commands: from text to every simple command in it, what each would do, and whether it may."""
