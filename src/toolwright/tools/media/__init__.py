"""Pictures and documents for Read: what they are, what they hold, and how they are made fit for a model."""
