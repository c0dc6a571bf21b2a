"""An MCP server over stdio that says every line of a file before each answer: as it is, and inside of messages.

Run as a program with the file's path. Of the standard library alone.
"""

import json
import sys

with open(sys.argv[1], "rb") as file:
    LINES = file.read().split(b"\n")

WRAPPED = (
    b"%s",
    b'{"jsonrpc":"2.0","id":%s,"result":{}}',
    b'{"jsonrpc":"2.0","id":"?","method":"sampling/createMessage","params":%s}',
    b'{"jsonrpc":"2.0","id":%s,"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":%s}',
    b'{"jsonrpc":"2.0","method":%s,"params":{}}',
)


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def result_of(message: dict[str, object]) -> object:
    match message["method"]:
        case "initialize":
            able: dict[str, object] = {"tools": {}, "logging": {}}
            return {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "hostile", "version": "1"}}
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": "still here"}]}


for line in sys.stdin.buffer:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue
    for form in WRAPPED:
        for document in LINES:
            say(form % document)
    say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)}).encode())
    sys.stdout.flush()
