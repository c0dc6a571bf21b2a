"""Settings: what a person says about sessions in JSON, apart from code."""

from toolwright.settings.inline import InlineSettings, read_inline

__all__ = ["InlineSettings", "read_inline"]
