"""Lists of a tool server that change while it is used: the events' names, and the notifications that carry them."""

from __future__ import annotations

TOOLS, RESOURCES, PROMPTS = "ToolListChanged", "ResourceListChanged", "PromptListChanged"

NOTIFICATIONS = {
    "notifications/tools/list_changed": TOOLS,
    "notifications/resources/list_changed": RESOURCES,
    "notifications/prompts/list_changed": PROMPTS,
}
"""Events by the method of their notification."""
METHODS = {event: method for method, event in NOTIFICATIONS.items()}
