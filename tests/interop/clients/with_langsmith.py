"""langsmith traces a conversation with `ClaudeSDKClient`; its runs go to a server of this process."""

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from conversation import Lines, attribute_lines, run, talk_with_client
from langsmith import Client, trace, tracing_context
from langsmith.integrations.claude_agent_sdk import configure_claude_agent_sdk

ROOT = "conversation"
OF_THIS_RUN = ("duration_ms", "duration_api_ms")
runs: dict[str, dict[str, Any]] = defaultdict(dict)


class Collector(BaseHTTPRequestHandler):
    """Takes a run when it begins and what is added when it ends."""

    def keep(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for part in (*told.get("post", ()), *told.get("patch", ())):
            runs[part["id"]] |= {key: value for key, value in part.items() if value is not None}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = keep

    def log_message(self, *_: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
batches = {"use_multipart_endpoint": False, "size_limit": 100, "size_limit_bytes": 20_000_000}
batches |= {"scale_up_nthreads_limit": 1, "scale_up_qsize_trigger": 1000}
info: Any = {"version": "0", "batch_ingest_config": batches}
client_of_runs = Client(api_url=f"http://127.0.0.1:{server.server_port}", api_key="test", info=info)
assert configure_claude_agent_sdk(name="talk")


async def hold() -> str:
    with tracing_context(enabled=True, client=client_of_runs), trace(ROOT, client=client_of_runs) as root:
        await talk_with_client()
    client_of_runs.flush()
    return str(root.trace_id)


def lines_of(trace_id: str) -> Lines:
    held = {name: one for name, one in runs.items() if one.get("trace_id") == trace_id}
    ordered = sorted(held.values(), key=lambda one: one["dotted_order"])
    return [line for one in ordered if one["name"] != ROOT for line in run_lines(one, held)]


def run_lines(one: dict[str, Any], held: dict[str, dict[str, Any]]) -> Lines:
    above = held.get(one.get("parent_run_id", ""), {}).get("name", "nothing")
    head = f"run {one['name']} ({one['run_type']}, {'failed' if one.get('error') else 'good'}) in {above}"
    told = [(part, one.get(part)) for part in ("inputs", "outputs")]
    metadata = attribute_lines(f"{one['name']} metadata", ((one.get("extra") or {}).get("metadata") or {}).items(), OF_THIS_RUN)
    return [head, *attribute_lines(one["name"], told), *metadata]


run(hold, lines_of)
