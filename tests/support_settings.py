"""What tests of settings share: a home and a project in a folder of their own, and sessions there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support_runtime import Frame, play
from toolwright.models.scripted import Say, ScriptedModel
from toolwright.settings import Settings, SettingsLocations, load


@dataclass
class Place:
    """A user's configuration, a project, an administrator's folder; and the diagnostics of sessions there."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for folder in (self.config, self.project, self.managed):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def project(self) -> Path:
        return self.folder / "workspace"

    @property
    def managed(self) -> Path:
        return self.folder / "managed"

    @property
    def where(self) -> SettingsLocations:
        return SettingsLocations(str(self.project), (str(self.config),), (str(self.managed),))

    def write(self, scope: str, value: Any, folder: str = ".claude") -> Path:
        """Settings of a scope; text is written as it is."""
        paths = {
            "user": self.config / "settings.json",
            "project": self.project / folder / "settings.json",
            "local": self.project / folder / "settings.local.json",
            "managed": self.managed / "managed-settings.json",
            "servers": self.project / ".mcp.json",
        }
        path = paths[scope]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def load(self, **more: Any) -> Settings:
        return load(self.where, **more).settings

    async def play(self, model: ScriptedModel | None = None, **more: Any) -> list[Frame]:
        """One prompt in the project, through the same door as every session."""
        return await play(self.folder, model or ScriptedModel([Say("done")]), stderr=self.lines.append, **more)


def first_message(model: ScriptedModel, request: int = 0) -> list[str]:
    """The texts of the first message of a request."""
    return [block["text"] for block in model.requests[request].messages[0].content if block["type"] == "text"]
