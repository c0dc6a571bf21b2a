"""A small MCP server on standard streams with resources: a text, a picture, and some that are not to be had."""

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


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            info = {"name": "notes", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"resources": {}}, "serverInfo": info}
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
