"""A model object under a name, so that a session can be told to use it: sessions choose their model by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from toolwright.models.base import Model
from toolwright.models.registry import ResolvedModel, register_provider, unregister_provider

_numbers = count(1)


@contextmanager
def model_named(model: Model, model_id: str = "") -> Iterator[str]:
    """`with model_named(ScriptedModel([...])) as name: … ClaudeAgentOptions(model=name)`

    `model_id` is what requests and messages call the model; empty: its own name, if it has one.
    """
    prefix = f"given-{next(_numbers)}"
    known_as = model_id or str(getattr(model, "model", "")) or "given"
    register_provider(prefix, lambda rest, env: ResolvedModel(model, known_as, "given", display_name=known_as))
    try:
        yield f"{prefix}:{known_as}"
    finally:
        unregister_provider(prefix)
