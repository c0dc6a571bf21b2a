"""The public fakes can be imported from one place, and a model object can be chosen by a name."""

from __future__ import annotations

import pytest

import toolwright.testing
from toolwright.models.registry import resolve
from toolwright.testing import ScriptedModel, model_named
from toolwright.types.errors import OptionsError


def test_every_public_fake_can_be_imported() -> None:
    for name in toolwright.testing.__all__:
        assert getattr(toolwright.testing, name) is not None


def test_a_model_object_has_a_name_inside_the_block_only() -> None:
    first, second = ScriptedModel([]), ScriptedModel([], model="other")
    with model_named(first) as one, model_named(second, "claude-x") as two:
        assert resolve(one, {}).model is first
        assert resolve(one, {}).id == "scripted"
        assert (resolve(two, {}).model, resolve(two, {}).id) == (second, "claude-x")
    with pytest.raises(OptionsError):
        resolve(one, {})
