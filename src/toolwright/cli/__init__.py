"""The `toolwright` command: ask a question, hold a stream-json conversation, run the demo."""
