"""A small MCP server on standard streams with resources (a text, a picture, some that are not to be had) and prompts."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

PICTURE = bytes(range(256))
RESOURCES = [
    {"uri": "notes://one", "name": "one", "mimeType": "text/plain", "description": "a note\u202e"},
    {"uri": "notes://picture", "name": "picture", "mimeType": "image/png"},
    {"uri": "notes://long", "name": "long"},
]
CONTENTS: dict[str, dict[str, Any]] = {
    "notes://one": {"mimeType": "text/plain", "text": "the note"},
    "notes://picture": {"mimeType": "image/png", "blob": base64.b64encode(PICTURE).decode()},
    "notes://long": {"text": "long " * 50_000},
}


PROMPTS = [
    {
        "name": "review",
        "description": "Review a change",
        "arguments": [{"name": "change", "required": True}, {"name": "tone"}],
    },
    {"name": "long"},
    {"name": "gone"},
    {"name": 7},
]


def said(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": words}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            info = {"name": "notes", "version": "1"}
            able: dict[str, Any] = {"resources": {"subscribe": True}, "prompts": {}}
            return {"protocolVersion": params["protocolVersion"], "capabilities": able, "serverInfo": info}
        case "resources/subscribe":
            changed = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}
            other = {**changed, "params": {"uri": "notes://nobody-asked"}}
            print(json.dumps(changed), json.dumps(other), sep="\n", flush=True)
            return {}
        case "prompts/list":
            return {"prompts": PROMPTS}
        case "prompts/get" if params["name"] == "review":
            if params["arguments"]["change"] == "your prompts":
                PROMPTS.append({"name": "another"})
                print(json.dumps({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}), flush=True)
            request = f"Review {json.dumps(params['arguments'], sort_keys=True)}"
            return {"messages": [said("user", request), said("assistant", "How?")]}
        case "prompts/get" if params["name"] == "long":
            return {"messages": [said("user", "long " * 50_000)]}
        case "resources/read" if params["uri"] == "notes://one" and "--growing" in sys.argv:
            RESOURCES.append({"uri": "notes://new", "name": "new"})
            for _ in range(3):
                print(json.dumps({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}), flush=True)
            return {"contents": [{"uri": params["uri"], **CONTENTS[params["uri"]]}]}
        case "resources/list" if "--broken" not in sys.argv:
            start = int(params.get("cursor", 0))
            return {"resources": RESOURCES[start : start + 2]} | ({"nextCursor": "2"} if start == 0 else {})
        case "resources/read" if params["uri"] in CONTENTS:
            return {"contents": [{"uri": params["uri"], **CONTENTS[params["uri"]]}]}
        case "resources/read" if params["uri"] == "notes://secret":
            raise PermissionError
        case "resources/read":
            raise LookupError
    raise NotImplementedError


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params", {}))
        except LookupError:
            reply["error"] = {"code": -32002, "message": "no such note"}
        except PermissionError:
            reply["error"] = {"code": -32001, "message": "members only"}
        except NotImplementedError:
            reply["error"] = {"code": -32601, "message": "not here"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
