"""Settings: what people say about sessions in files, apart from code.

    places     where the files lie, and reading them
    document   JSON with comments, and where everything stands in it
    reader     one object, read key by key, with errors that say where
    schema     a document → Settings; hooks and sandbox are its larger parts
    values     the typed values
    merging    precedence, and what an untrusted folder may say
    trust      who has trusted which folder
    together   several documents as one; load: all that a session starts with
    writing    a person's answers into the right file; edits: as little of its text as can be
    memory     CLAUDE.md and AGENTS.md

Nothing here runs what settings name, and nothing is read again while a session lasts.
"""

from toolwright.settings.load import SOURCES, LoadedSettings, load
from toolwright.settings.locations import SettingsLocations
from toolwright.settings.values import HookConfig, Origin, ServerEntry, Settings, SourcedRule

__all__ = [
    "SOURCES",
    "LoadedSettings",
    "load",
    "SettingsLocations",
    "HookConfig",
    "Origin",
    "ServerEntry",
    "Settings",
    "SourcedRule",
]
