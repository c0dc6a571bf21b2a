"""Grep: search file contents with ripgrep, a page of results at a time, in the order of paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from msgspec import Meta, Struct

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, reading
from toolwright.tools.not_found import missing_file
from toolwright.tools.results import Naming, PageRequest, ResultPage, Results, TooMuch
from toolwright.tools.search_output import CountParser, LineParser, NameParser, Parser
from toolwright.tools.searching import HIDE_GIT, SEARCH_TIMEOUT, HiddenName, as_glob, below, hidden_name, notices

if TYPE_CHECKING:
    from toolwright.processes.ripgrep import SearchEnd
    from toolwright.workspace import Workspace
    from toolwright.workspace.workspace import SearchPlace

MAX_LINE_LENGTH = 2000
Mode = Literal["content", "files_with_matches", "count"]


_FLAGS = {"after": "-A", "before": "-B", "around": "-C", "numbers": "-n", "ignore_case": "-i", "only": "-o"}


class GrepInput(Struct, frozen=True, forbid_unknown_fields=True, rename=_FLAGS):
    pattern: Annotated[str, Meta(description="Regular expression in ripgrep's syntax")]
    path: Annotated[str, Meta(description="File or folder to search")] = "."
    glob: Annotated[str, Meta(description="Only files like this, for example *.{ts,tsx}")] = ""
    exclude: Annotated[str, Meta(description="No files like this")] = ""
    type: Annotated[str, Meta(description="Only files of this ripgrep type, for example py, js, rust")] = ""
    output_mode: Annotated[Mode, Meta(description="content: matching lines; count: matching lines per file")] = (
        "files_with_matches"
    )
    after: Annotated[int, Meta(ge=0, description="Lines to show after each match (content)")] = 0
    before: Annotated[int, Meta(ge=0, description="Lines to show before each match (content)")] = 0
    around: Annotated[int, Meta(ge=0, description="Lines to show before and after (content)")] = 0
    context: Annotated[int, Meta(ge=0, description="The same as -C")] = 0
    numbers: Annotated[bool, Meta(description="Show line numbers (content)")] = True
    ignore_case: Annotated[bool, Meta(description="Ignore case")] = False
    only: Annotated[bool, Meta(description="Show only the matching part of a line (content)")] = False
    multiline: Annotated[bool, Meta(description="Let the pattern span lines, and . match line ends")] = False
    head_limit: Annotated[int, Meta(ge=0, description="Show at most so many lines or entries; 0: as many as fit")] = 0
    offset: Annotated[int, Meta(ge=0, description="Skip so many lines or entries first")] = 0


class Grep(BuiltinTool):
    name = "Grep"
    description = (
        "Searches file contents with ripgrep. Answers with the paths of matching files unless output_mode says otherwise. "
        "Hidden files are searched; git-ignored files, .git, binary files and links are not. Totals are told; page with "
        "head_limit and offset. Use this rather than grep or rg through Bash."
    )
    Input = GrepInput
    read_only = True
    field_aliases = MappingProxyType({"include": "glob"})

    def effects(self, parsed: GrepInput, workspace: Workspace) -> Effects:
        return reading(workspace, parsed.path, searches=True)

    async def perform(self, parsed: GrepInput, context: ToolContext) -> ToolOutput:
        if "\0" in parsed.pattern + parsed.glob + parsed.exclude + parsed.type:
            raise ToolFailure("pattern, glob, exclude and type cannot hold a NUL character.")
        try:
            with context.workspace.search_place(parsed.path, granted=context.granted) as place:
                return await _search(parsed, place, context)
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.path, context.workspace)) from None


async def _search(parsed: GrepInput, place: SearchPlace, context: ToolContext) -> ToolOutput:
    deadline = anyio.current_time() + SEARCH_TIMEOUT
    hidden = hidden_name(context, parsed.path, place) if place.file is None else None
    naming = _naming(place, context.workspace, hidden)
    run = _Search(parsed, place, context.workspace, naming, deadline)
    try:
        end, page = await run.answer(ordered=place.file is not None)
    except TooMuch:  # a page far behind the beginning: let ripgrep put the answers in order, more slowly
        end, page = await run.answer(ordered=True)
    return _result(parsed, page, notices(end, hidden))


class _Search(Struct, frozen=True):
    """One search, as often as it takes."""

    parsed: GrepInput
    place: SearchPlace
    workspace: Workspace
    naming: Naming
    deadline: float

    async def answer(self, *, ordered: bool) -> tuple[SearchEnd, ResultPage]:
        results = Results(_PARSERS[self.parsed.output_mode](), _wanted(self.parsed), self.naming, ordered=ordered)
        sorting = ["--sort=path"] if ordered and self.place.file is None else []
        end = await self.workspace.search(
            self.place,
            [*sorting, *arguments(self.parsed)],
            on_output=results.feed,
            timeout=max(0.0, self.deadline - anyio.current_time()),
        )
        return end, results.page()


def _naming(place: SearchPlace, workspace: Workspace, hidden: HiddenName | None) -> Naming:
    def path(name: bytes) -> str:
        return place.path if place.file is not None else below(place.path, name)

    return Naming(path, workspace.shown, hidden)


def _wanted(parsed: GrepInput) -> PageRequest:
    before, after = _context(parsed)
    breaks = parsed.output_mode == "content" and bool(before or after)
    return PageRequest(parsed.offset, parsed.head_limit, numbers=parsed.numbers, breaks=breaks)


_PARSERS: Mapping[Mode, Callable[[], Parser]] = {
    "files_with_matches": NameParser,
    "count": CountParser,
    "content": LineParser,
}
_MODES: Mapping[Mode, tuple[str, ...]] = {
    "files_with_matches": ("--files-with-matches",),
    "count": ("--count",),
    "content": ("--heading", "--line-number", f"--max-columns={MAX_LINE_LENGTH}", "--max-columns-preview"),
}


def arguments(parsed: GrepInput) -> list[str]:
    """ripgrep's arguments. Everything that comes from the model is the value of an option, never an option."""
    chosen = ["--hidden", "--with-filename", "--null", *_MODES[parsed.output_mode]]
    if parsed.output_mode == "content":
        before, after = _context(parsed)
        chosen += [f"--before-context={before}", f"--after-context={after}", *(["--only-matching"] if parsed.only else [])]
    chosen += ["--ignore-case"] if parsed.ignore_case else []
    chosen += ["--multiline", "--multiline-dotall"] if parsed.multiline else []
    chosen += _type_arguments(parsed.type)
    chosen += [f"--glob={as_glob(parsed.glob)}"] if parsed.glob else []
    chosen += [f"--glob=!{as_glob(parsed.exclude)}"] if parsed.exclude else []
    return [*chosen, *HIDE_GIT, f"--regexp={parsed.pattern}"]


_TYPES_RIPGREP_LACKS = {"tsx": "*.tsx", "jsx": "*.jsx"}


def _type_arguments(name: str) -> list[str]:
    added = [f"--type-add={name}:{_TYPES_RIPGREP_LACKS[name]}"] if name in _TYPES_RIPGREP_LACKS else []
    return [*added, f"--type={name}"] if name else []


def _context(parsed: GrepInput) -> tuple[int, int]:
    around = parsed.around or parsed.context
    return parsed.before or around, parsed.after or around


def _result(parsed: GrepInput, page: ResultPage, notes: list[str]) -> ToolOutput:
    nothing = "No matches found" if parsed.output_mode == "content" else "No files found"
    lines = page.lines if page.total else [nothing]
    text = "\n".join([*lines, *(f"[{note}]" for note in _paging(parsed, page) + notes)])
    return ToolOutput(text, _structured(parsed, page))


def _paging(parsed: GrepInput, page: ResultPage) -> list[str]:
    if len(page.lines) == page.total:
        return []
    noun = "lines" if parsed.output_mode == "content" else "files"
    if not page.lines:
        return [f"offset {parsed.offset} is past the end: there are {page.total} {noun}"]
    last = parsed.offset + len(page.lines)
    more = f"; continue with offset={last}" if last < page.total else ""
    return [f"{noun} {parsed.offset + 1}-{last} of {page.total}{more}"]


def _structured(parsed: GrepInput, page: ResultPage) -> dict[str, Any]:
    structured: dict[str, Any] = {
        "mode": parsed.output_mode,
        "numFiles": len(page.files),
        "filenames": page.files,
        "totalFiles": page.total_files,
    }
    if parsed.output_mode != "files_with_matches":
        structured |= {"content": "\n".join(page.lines), "numLines": len(page.lines), "totalLines": page.total}
    if parsed.output_mode == "content":
        structured["matches"] = page.places
    if parsed.output_mode == "count":
        structured["numMatches"] = page.matches
    if parsed.head_limit:
        structured["appliedLimit"] = parsed.head_limit
    if parsed.offset:
        structured["appliedOffset"] = parsed.offset
    return structured
