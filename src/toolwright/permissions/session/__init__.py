"""Permissions of one session: the gate that every call passes, approval by a person, mode auto, explanations."""
