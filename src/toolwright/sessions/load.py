"""Reads a transcript back for a session to go on from: the entries, their chain, the history.

Reads the files of this package and of others that write this layout: unknown kinds of entries are passed over, parallel
calls may branch off the chain, and a damaged file gives what is left of it, with `problems` that name what is not.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from toolwright.sessions.bulk import let_go, uncollected
from toolwright.sessions.history import Block, LoadedMessage, Spoken, interrupted_result, valid_history
from toolwright.sessions.journal import DEFERRED, READ_STATE, SYNTHETIC_MODEL
from toolwright.sessions.lines import is_in_chain, read_lines
from toolwright.sessions.locked_file import read_at_rest
from toolwright.sessions.private_files import read


class Transcript(Struct, frozen=True):
    """A conversation as a session needs it to go on."""

    messages: list[LoadedMessage] = field(default_factory=list)
    """Valid for a model's API: see `history`."""
    session_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    """Who answered last."""
    last_uuid: str | None = None
    """The entry that the next one hangs on."""
    problems: tuple[str, ...] = ()
    message_ids: frozenset[str] = frozenset()
    """The ids of all answers in the file: blocks of one id are one answer, so a new answer must not have one of these."""
    read_states: tuple[dict[str, Any], ...] = ()
    """Versions of files that calls have seen, in the order they were."""

    deferred: frozenset[str] = frozenset()
    """The ids of calls that were put off."""
    size: int = 0
    """Bytes of the file."""

    def put_off_in(self, messages: list[LoadedMessage]) -> Block | None:
        """The call that these messages end with, if it was put off: the last message only stands in for its result."""
        if len(messages) < 2 or len(messages[-1].content) != 1:
            return None
        calls = [block for block in messages[-2].content if block["type"] == "tool_use"]
        found = next((call for call in calls if call["id"] in self.deferred), None)
        return found if found is not None and messages[-1].content == [interrupted_result(found["id"])] else None

    def files_seen_in(self, messages: list[LoadedMessage]) -> list[dict[str, Any]]:
        """The last version of each file that the calls in these messages have seen."""
        calls = {block.get("tool_use_id") for message in messages for block in message.content}
        return list({state["path"]: state for state in self.read_states if state.get("toolUseId") in calls}.values())


class _Node(Struct, gc=False):
    position: int
    entry: dict[str, Any]

    @property
    def parent(self) -> str | None:
        parent = self.entry.get("parentUuid")
        return parent if isinstance(parent, str) else None

    @property
    def message_id(self) -> str | None:
        message_id = self.entry["message"].get("id") if self.is_message else None
        return message_id if isinstance(message_id, str) else None

    @property
    def is_message(self) -> bool:
        return self.entry["type"] in ("user", "assistant") and isinstance(self.entry.get("message"), dict)

    @property
    def is_main(self) -> bool:
        return not self.entry.get("isSidechain")

    @property
    def blocks(self) -> list[Block]:
        content = self.entry["message"].get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def ids(self, kind: str, name: str) -> set[str]:
        """The field `name` of the message's blocks of one kind."""
        return {str(block.get(name)) for block in self.blocks if block.get("type") == kind} if self.is_message else set()


def load(path: Path, *, at_rest: bool = False) -> Transcript:
    """The conversation in the file. Raises `JournalError` only when the file cannot be opened.

    `at_rest` waits, but not for long, for a session that is in the middle of a turn: then `JournalBusy` is raised.
    """
    data = read_at_rest(path) if at_rest else read(path)
    with uncollected():
        entries, problems = read_lines(data)
        transcript = transcript_of(entries, problems)
        let_go(entries)
    return replace(transcript, size=len(data))


def transcript_of(entries: list[dict[str, Any]], problems: list[str] | None = None) -> Transcript:
    """The conversation that the entries hold; they may come from anywhere."""
    problems = list(problems or ())
    nodes = _nodes(entries)
    leaf = next((node for node in reversed(nodes.values()) if node.is_message and node.is_main), None)
    if leaf is None:
        return Transcript(problems=tuple(problems))
    chain = _with_strays(_chain_to(leaf, nodes, problems), nodes)
    spoken = [_spoken(node) for node in chain if _is_for_the_model(node)]
    messages, mended = valid_history(spoken)
    let_go(spoken)
    models = (node.entry["message"].get("model") for node in reversed(chain) if node.is_message and _is_for_the_model(node))
    transcript = Transcript(
        messages=messages,
        session_id=_text(leaf, "sessionId"),
        cwd=_text(leaf, "cwd"),
        model=next((model for model in models if isinstance(model, str)), None),
        last_uuid=leaf.entry["uuid"],
        problems=(*problems, *mended),
        message_ids=frozenset(node.message_id for node in nodes.values() if node.message_id),
        deferred=frozenset(str(entry.get("toolUseId")) for entry in entries if entry.get("type") == DEFERRED),
        read_states=tuple(entry for entry in entries if is_read_state(entry)),
    )
    let_go(chain)
    let_go(nodes)
    return transcript


def is_read_state(entry: dict[str, Any]) -> bool:
    return entry.get("type") == READ_STATE and isinstance(entry.get("path"), str) and isinstance(entry.get("toolUseId"), str)


def _nodes(entries: list[dict[str, Any]]) -> dict[str, _Node]:
    """The entries that have a place in the chain, by uuid, in the file's order. A second one of the same uuid is a copy."""
    nodes: dict[str, _Node] = {}
    for position, entry in enumerate(entries):
        if is_in_chain(entry):
            nodes.setdefault(entry["uuid"], _Node(position, entry))
    return nodes


def _chain_to(leaf: _Node, nodes: dict[str, _Node], problems: list[str]) -> list[_Node]:
    """From the first entry to `leaf`. Where a parent was lost, the entry before it in the file takes its place."""
    in_order = list(nodes.values())
    chain: list[_Node] = []
    seen: set[int] = set()
    node: _Node | None = leaf
    while node is not None and node.position not in seen:
        chain.append(node)
        seen.add(node.position)
        parent = node.parent
        if parent is not None and parent not in nodes:
            problems.append(f"entry {node.entry['uuid']}: its parent {parent} is missing; the entry before it was taken")
            node = _before(node, in_order)
        else:
            node = nodes[parent] if parent is not None else None
    return chain[::-1]


def _before(node: _Node, in_order: list[_Node]) -> _Node | None:
    place = bisect_left(in_order, node.position, key=lambda other: other.position)
    return next((other for other in reversed(in_order[max(0, place - 100) : place]) if other.is_main), None)


def _with_strays(chain: list[_Node], nodes: dict[str, _Node]) -> list[_Node]:
    """The chain with the blocks and results of parallel calls that hang beside it."""
    on_chain = {node.position for node in chain}
    message_ids = {node.message_id for node in chain if node.message_id}
    beside = [node for node in nodes.values() if node.position not in on_chain and node.is_main and node.is_message]
    blocks = [node for node in beside if node.message_id in message_ids]
    calls = {call for node in (*chain, *blocks) for call in node.ids("tool_use", "id")}
    answered = {call for node in chain for call in node.ids("tool_result", "tool_use_id")}
    results = [node for node in beside if node.ids("tool_result", "tool_use_id") & (calls - answered)]
    return sorted((*chain, *blocks, *results), key=lambda node: node.position)


def _is_for_the_model(node: _Node) -> bool:
    if not node.is_message or node.entry.get("isApiErrorMessage"):
        return False
    return bool(node.entry["message"].get("model") != SYNTHETIC_MODEL)


def _spoken(node: _Node) -> Spoken:
    return Spoken(
        "assistant" if node.entry["type"] == "assistant" else "user", node.blocks, node.entry["uuid"], node.message_id
    )


def _text(node: _Node, name: str) -> str | None:
    value = node.entry.get(name)
    return value if isinstance(value, str) else None
