"""The cage: where a command runs that nobody was asked about."""
