"""Where a session begins: new, or with what a transcript holds (resume, continue, fork)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from toolwright._version import COMPATIBLE_CLI_VERSION
from toolwright.base.ids import new_uuid
from toolwright.base.worker_threads import in_thread
from toolwright.models.base import History, HistoryMessage
from toolwright.runtime.tool_calls import ToolCall
from toolwright.runtime.turn_result import failed_to_start
from toolwright.sessions import (
    Journal,
    JournalError,
    JournalInUse,
    config_dir,
    project_dir,
    project_key_for_directory,
    transcript_path,
)
from toolwright.types import ClaudeAgentOptions, OptionsError, ResultError

if TYPE_CHECKING:
    from toolwright.sessions.history import LoadedMessage
    from toolwright.sessions.load import Transcript


NO_TRANSCRIPT_FLAG = "no-session-persistence"


class Beginning(Struct, frozen=True):
    """A session's id, its journal, and the history it starts from."""

    session_id: str
    journal: Journal
    history: History = field(default_factory=History)
    source: str = "startup"
    used_ids: set[str] = field(default_factory=set)
    """Of answers and calls that the transcript holds."""
    files_seen: list[dict[str, Any]] = field(default_factory=list)
    """Versions of files, for the workspace to know again."""
    deferred: ToolCall | None = None
    """A call that a hook put off: the history ends with it."""
    tools_loaded: list[str] = field(default_factory=list)
    """Tools of servers that the conversation has searched for or called."""
    problem: str | None = None
    """Why it is not kept although it should be."""


async def begun(options: ClaudeAgentOptions, env: Mapping[str, str], cwd: str) -> Beginning:
    """A transcript may be long, and another session in the middle of a turn: it is read in a thread."""
    if options.resume is None and not options.continue_conversation:
        return begin(options, env, cwd)
    try:
        return await in_thread(lambda: begin(options, env, cwd))
    except JournalInUse as error:
        raise not_begun(str(error)) from None


def begin(options: ClaudeAgentOptions, env: Mapping[str, str], cwd: str) -> Beginning:
    config, key = config_dir(env), project_key_for_directory(cwd)
    source = source_transcript(options, config, key)
    if source is None:
        session_id = options.session_id or new_uuid()
        journal = open_journal(transcript_path(config, key, session_id), session_id, cwd, env, persists=is_kept(options))
        return Beginning(session_id, journal)
    if options.fork_session:
        return forked(source, options, cwd, env, folder=project_dir(config, key))
    return resumed(source, options, cwd, env, at=options.resume_session_at)


def forked(source: Path, options: ClaudeAgentOptions, cwd: str, env: Mapping[str, str], *, folder: Path) -> Beginning:
    """A copy of the conversation; where none can be written, or is to be kept, it is in memory alone."""
    problem: str | None = None
    if is_kept(options):
        from toolwright.sessions.fork import fork

        try:
            copy = fork(source, session_id=options.session_id, folder=folder, up_to=options.resume_session_at)
            return resumed(copy, options, cwd, env)
        except JournalInUse:
            raise
        except JournalError as error:
            problem = str(error)
    beginning = resumed(source, options, cwd, env, at=options.resume_session_at)
    session_id = options.session_id or new_uuid()
    journal = open_journal(transcript_path(folder.parent.parent, folder.name, session_id), session_id, cwd, env, persists=False)
    return replace(beginning, session_id=session_id, journal=journal, problem=problem)


def source_transcript(options: ClaudeAgentOptions, config: Path, key: str) -> Path | None:
    """The transcript to go on from. Nothing to continue starts afresh; an id that is not there is an error."""
    if options.resume is None and not options.continue_conversation:
        return None
    from toolwright.sessions.find import find_session, latest_session  # only for sessions that go on from a transcript

    if options.resume is not None:
        found = find_session(options.resume, config_dir=config, project_key=key)
        if found is None:
            raise not_begun(f"No conversation found with session ID: {options.resume}")
        return found
    return latest_session(config_dir=config, project_key=key)


def resumed(path: Path, options: ClaudeAgentOptions, cwd: str, env: Mapping[str, str], *, at: str | None = None) -> Beginning:
    """The conversation in `path`, up to the message `at`."""
    from toolwright.mcp.session.tool_search import loaded_in
    from toolwright.sessions.load import load

    transcript = load(path, at_rest=is_kept(options) and not options.fork_session)
    messages, last_uuid = up_to(transcript, at)
    if options.resume_drops_turn is not None:
        check_dropped(transcript.messages[len(messages) :], options.resume_drops_turn)
    journal = open_journal(path, path.stem, cwd, env, last_uuid, known=transcript.size, persists=is_kept(options))
    seen, put_off = transcript.files_seen_in(messages), transcript.put_off_in(messages)
    history = History(HistoryMessage(each.role, each.content) for each in (messages[:-1] if put_off else messages))
    deferred = ToolCall(put_off["id"], put_off["name"], put_off["input"]) if put_off else None
    return Beginning(path.stem, journal, history, "resume", used_ids(transcript), seen, deferred, loaded_in(history))


def used_ids(transcript: Transcript) -> set[str]:
    blocks = (block for message in transcript.messages for block in message.content)
    return {block["id"] for block in blocks if block.get("type") == "tool_use"} | transcript.message_ids


def up_to(transcript: Transcript, uuid: str | None) -> tuple[list[LoadedMessage], str | None]:
    if uuid is None:
        return transcript.messages, transcript.last_uuid
    for position, message in enumerate(transcript.messages):
        if message.uuid == uuid:
            return transcript.messages[: position + 1], uuid
    raise OptionsError(f"resume_session_at: the session holds no message {uuid}")


def check_dropped(dropped: list[LoadedMessage], expected: str) -> None:
    """Refuse a truncating resume that would drop anything but the turn of that user message."""
    first = dropped[0].uuid if dropped else None
    if first != expected:
        raise OptionsError(f"Resume rejected by --resume-drops-turn: the first message dropped is {first}, not {expected}")


def is_kept(options: ClaudeAgentOptions) -> bool:
    """Whether a transcript is to be written."""
    return options.persist_session and NO_TRANSCRIPT_FLAG not in options.extra_args


def open_journal(
    path: Path,
    session_id: str,
    cwd: str,
    env: Mapping[str, str],
    last_uuid: str | None = None,
    *,
    known: int = 0,
    persists: bool = True,
) -> Journal:
    return Journal(
        path,
        session_id=session_id,
        cwd=cwd,
        version=COMPATIBLE_CLI_VERSION,
        entrypoint=env.get("CLAUDE_CODE_ENTRYPOINT", "sdk-py"),
        last_uuid=last_uuid,
        known=known,
        persists=persists,
    )


def not_begun(problem: str) -> ResultError:
    return ResultError.from_result(failed_to_start(problem), 1)
