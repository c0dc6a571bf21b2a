"""From the syntax tree of a command line to its simple commands.

Follows every branch: lists, pipes, loops, functions, substitutions, here-documents, arithmetic, and texts that are handed to
another
shell. Keeps track of `cd`, because it changes what the paths after it mean. Knows no rule, no program but the wrappers, and
no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from .grammar import NotParsed, Tree, shell_tree
from .lines import HERE, Assignment, CommandLine, Moves, Part, Redirection, stays_harmless
from .words import NO_WORD, UNKNOWN, Word, word_of, words_of
from .wrappers import Unwrapped, unwrapped

DEEPEST = 4
"""So many texts inside texts (`bash -c "bash -c …"`) are read."""
MOST_FOLDERS = 8
MOST_NESTED_TEXTS = 64
LONGEST_REMEMBERED = 4_000

NOWHERE: Moves = frozenset()
ANYWHERE: Moves = frozenset({(NO_WORD,)})

PLAIN_EXPANSIONS = frozenset((":-", "-", ":+", "+", "?", ":?", "%", "%%", "#", "##", "^", "^^", ",", ",,"))
WRITES_TO = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
REDIRECTIONS = WRITES_TO | {"<", "<&", "<<", "<<-", "<<<"}
CHANGE_NAMES = frozenset("alias unalias enable hash bind complete compgen mapfile readarray shopt".split())  # noqa: SIM905 — a word list reads better

Parser = Callable[[str], Tree]


def read_line(text: str, parse: Parser = shell_tree) -> CommandLine:
    """The command line that `text` is. Never raises: what cannot be parsed says so in `unparsed`."""
    try:
        tree = parse(text)
    except NotParsed as problem:
        return CommandLine(text, unparsed=str(problem))
    reader = _Reader(parse)
    try:
        reader.script(tree, text, HERE)
    except RecursionError:
        return CommandLine(text, unparsed="it is nested too deeply")
    return CommandLine(
        text,
        tuple(reader.parts),
        doubts=tuple(dict.fromkeys(reader.doubts)),
        opaque=tuple(dict.fromkeys(reader.opaque)),
        defines=frozenset(reader.defines),
    )


@lru_cache(maxsize=256)
def _remembered(text: str) -> CommandLine:
    return read_line(text)


def read_command(text: str) -> CommandLine:
    """`read_line`, remembering what was read: a session runs the same commands again and again."""
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else read_line(text)


class _Reader:
    """Collects parts while it walks. `moves` goes in and comes out as a pair: where we are if it succeeded, and if not."""

    def __init__(self, parse: Parser) -> None:
        self.parse = parse
        self.parts: list[Part] = []
        self.doubts: list[str] = []
        self.opaque: list[str] = []
        self.defines: set[str] = set()
        self.texts = 0
        self._bytes = b""
        self._certain = True
        self._fed = False

    def script(self, tree: Tree, text: str, moves: Moves) -> None:
        self._bytes = text.encode(errors="replace")
        self.statements(tree.get("Stmts") or (), moves)

    def statements(self, statements: Iterable[Tree], moves: Moves) -> Moves:
        for statement in statements:
            succeeded, failed = self.statement(statement, moves)
            moves = self._some(succeeded | failed)
        return moves

    def statement(self, statement: Tree, moves: Moves) -> tuple[Moves, Moves]:
        redirections = self._redirections(statement.get("Redirs") or (), moves)
        fed, self._fed = (
            self._fed,
            self._fed or any(redirect["Op"].startswith("<") for redirect in statement.get("Redirs") or ()),
        )
        command = statement.get("Cmd")
        if command is None or command["Type"] != "CallExpr":
            if redirections:
                self.parts.append(Part((), redirections=redirections, moves=moves, certain=self._certain))
            after = self.command(command, moves) if command else (moves, moves)
        else:
            after = self._call(command, moves, redirections)
        self._fed = fed
        if statement.get("Background"):
            return moves, moves
        return (after[1], after[0]) if statement.get("Negated") else after

    def command(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        walk = getattr(self, f"_walk_{node['Type']}", None)
        if walk is None:
            self.opaque.append(f"{node['Type']} is not understood")
            return ANYWHERE, ANYWHERE
        after: tuple[Moves, Moves] = walk(node, moves)
        return after

    # compound commands

    def _walk_BinaryCmd(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        if node["Op"] in ("|", "|&"):
            self.statement(node["X"], moves)
            fed, self._fed = self._fed, True
            self.statement(node["Y"], moves)
            self._fed = fed
            return moves, moves
        if node["Op"] not in ("&&", "||"):
            self.opaque.append(f"the operator {node['Op']} is not understood")
        succeeded, failed = self.statement(node["X"], moves)
        if node["Op"] == "&&":
            then_succeeded, then_failed = self.statement(node["Y"], succeeded)
            return then_succeeded, self._some(failed | then_failed)
        then_succeeded, then_failed = self.statement(node["Y"], failed)
        return self._some(succeeded | then_succeeded), then_failed

    def _walk_Block(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        return self._both(self.statements(node.get("Stmts") or (), moves))

    def _walk_Subshell(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self.statements(node.get("Stmts") or (), moves)
        return moves, moves

    def _walk_IfClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        tested = self.statements(node.get("Cond") or (), moves)
        after = self.statements(node.get("Then") or (), tested)
        otherwise = self._walk_IfClause(node["Else"], tested)[0] if node.get("Else") else tested
        return self._both(self._some(after | otherwise))

    def _walk_WhileClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        return self._loop((*(node.get("Cond") or ()), *(node.get("Do") or ())), moves)

    def _walk_ForClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        loop = node.get("Loop") or {}
        self._words(loop.get("Items") or (), moves)
        if loop.get("Type") == "CStyleLoop":
            for name in ("Init", "Cond", "Post"):
                self._arithmetic(loop.get(name), moves)
        self._assigned((Assignment((loop.get("Name") or {}).get("Value", ""), NO_WORD),), moves)
        return self._loop(node.get("Do") or (), moves)

    def _loop(self, statements: Sequence[Tree], moves: Moves) -> tuple[Moves, Moves]:
        after = self.statements(statements, moves)
        if after != moves:
            self.doubts.append("a loop changes the working folder")
            after = ANYWHERE
        return after, after

    def _walk_CaseClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self._word(node["Word"], moves)
        after = moves
        for item in node.get("Items") or ():
            self._words(item.get("Patterns") or (), moves)
            after |= self.statements(item.get("Stmts") or (), moves)
        return self._both(self._some(after))

    def _walk_FuncDecl(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        name = (node.get("Name") or {}).get("Value", "")
        self.defines.add(name)
        self.doubts.append(f"it defines the function {name}")
        self.statement(node["Body"], ANYWHERE)
        return moves, moves

    def _walk_TimeClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        return self.statement(node["Stmt"], moves) if node.get("Stmt") else (moves, moves)

    def _walk_CoprocClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        # The grammar takes other first words for the coprocess's name than bash does, so the program may be another one.
        self.opaque.append("what coproc runs cannot be read")
        self.statement(node["Stmt"], moves)
        return moves, moves

    def _walk_TestClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self._test(node.get("X") or {}, moves)
        return moves, moves

    def _test(self, node: Tree, moves: Moves) -> None:
        if node.get("Op") in ("-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
            self.opaque.append(f"[[ … {node['Op']} … ]] evaluates what variables hold")
        if node.get("Type") == "Word":
            self._word(node, moves)
        for name in ("X", "Y"):
            if isinstance(node.get(name), dict):
                self._test(node[name], moves)

    def _walk_ArithmCmd(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self._arithmetic(node.get("X"), moves)
        return moves, moves

    def _walk_LetClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        for expression in node.get("Exprs") or ():
            self._arithmetic(expression, moves)
        return moves, moves

    def _walk_DeclClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        assignments = self._assignments(node.get("Args") or (), moves)
        self._assigned(assignments, moves)
        words = [Word(node["Variant"]["Value"])]
        words += [
            self._word(argument["Value"], moves)
            for argument in node.get("Args") or ()
            if argument.get("Naked") and argument.get("Value")
        ]
        self._add(Part(tuple(words), assignments=assignments, moves=moves, certain=self._certain))
        return moves, moves

    # simple commands

    def _call(self, node: Tree, moves: Moves, redirections: tuple[Redirection, ...]) -> tuple[Moves, Moves]:
        assignments = self._assignments(node.get("Assigns") or (), moves)
        words = tuple(word for argument in node.get("Args") or () for word in self._words([argument], moves))
        part = Part(words, self._source(node), assignments, redirections, moves, certain=self._certain, piped=self._fed)
        if not words:
            self._assigned(assignments, moves)
        self._add(part)
        return self._moved(part, moves)

    def _add(self, part: Part) -> None:
        inner = unwrapped(part.words)
        if inner is None:
            self.parts.append(part)
            self._look_at(part)
        elif inner.harmless:
            wrapped = (*part.wrapped, *part.words[: len(part.words) - inner.length])
            self._add(replace(part, words=inner.commands[0], wrapped=wrapped))
        else:
            self.parts.append(part)
            self._look_at(part)
            self._inside(part, inner)

    def _inside(self, part: Part, inner: Unwrapped) -> None:
        certain, self._certain = self._certain, False
        if inner.opaque:
            self.opaque.append(f"{part.name} runs something that cannot be seen")
        for words in inner.commands:
            self._add(replace(part, words=words, source="", redirections=(), certain=False, wrapped=()))
        for text in inner.texts:
            self._text(text, part.moves)
        self._certain = certain

    def _text(self, text: str, moves: Moves) -> None:
        """A text that another shell, or this one again, will run."""
        self.texts += 1
        before = self._bytes
        try:
            if self.texts > MOST_NESTED_TEXTS:
                raise NotParsed("there are too many texts in it")
            tree = self.parse(text)
            self.script(tree, text, moves)
        except NotParsed as problem:
            self.opaque.append(f"a text in it cannot be read: {problem}")
        self._bytes = before

    def _look_at(self, part: Part) -> None:
        if part.words and not part.words[0].known:
            self.opaque.append(f"the program {part.words[0].text.replace(UNKNOWN, '…')!r} is only known when it runs")
        if part.name in CHANGE_NAMES:
            self.opaque.append(f"{part.name} changes what later words mean")

    def _moved(self, part: Part, moves: Moves) -> tuple[Moves, Moves]:
        words = part.words
        if _leaves(words):
            return NOWHERE, NOWHERE
        while words and (inner := unwrapped(words)) is not None and inner.harmless:
            words = inner.commands[0]
        if not words:
            return moves, moves
        name = words[0].plain
        if name in ("cd", "pushd"):
            target = NO_WORD if name == "pushd" and len(words) == 1 else _cd_target(words[1:])
            moved = frozenset((*row, target) for row in moves)
            # `command cd x` moves, `timeout 5 cd x` does not: behind a wrapper it may be either
            return self._some(moved if words is part.words else moved | moves), moves
        return (ANYWHERE, ANYWHERE) if name in (None, "popd", ".", "source", "eval", "exec") else (moves, moves)

    # words

    def _words(self, nodes: Iterable[Tree], moves: Moves) -> list[Word]:
        found: list[Word] = []
        for node in nodes:
            self._expansions(node, moves)
            found += words_of(node)
        return found

    def _word(self, node: Tree, moves: Moves) -> Word:
        self._expansions(node, moves)
        return word_of(node)

    def _expansions(self, node: Tree, moves: Moves) -> None:
        for part in node.get("Parts") or ():
            match part["Type"]:
                case "Lit" | "SglQuoted":
                    continue
                case "DblQuoted":
                    self._expansions(part, moves)
                case "CmdSubst" | "ProcSubst":
                    self.statements(part.get("Stmts") or (), moves)
                case "ParamExp":
                    self._parameter(part, moves)
                case "ArithmExp":
                    self._arithmetic(part.get("X"), moves)
                case other:
                    self.opaque.append(f"{other} is not understood")

    def _parameter(self, node: Tree, moves: Moves) -> None:
        expansion = node.get("Exp") or {}
        if node.get("Excl") or node.get("NestedParam") or node.get("Names"):
            self.opaque.append("${!name} evaluates what a variable holds")
        if expansion.get("Op") and expansion["Op"] not in PLAIN_EXPANSIONS:
            self.opaque.append(f"${{name{expansion['Op']}…}} changes or evaluates a variable")
        if expansion.get("Word"):
            self._word(expansion["Word"], moves)
        if node.get("Index"):
            self._arithmetic(node["Index"], moves, free=("@", "*"))
        for piece in (node.get("Slice") or {}).values():
            self._arithmetic(piece, moves)
        for piece in (node.get("Repl") or {}).values():
            if isinstance(piece, dict) and "Parts" in piece:
                self._word(piece, moves)

    def _arithmetic(self, node: Any, moves: Moves, free: tuple[str, ...] = ()) -> None:
        """Arithmetic runs what variables hold (`a[$(…)]`), so only numbers are understood."""
        if not isinstance(node, dict):
            return
        if "Parts" in node:
            word = self._word(node, moves)
            if not (word.known and (word.text.isdecimal() or word.text in free)) and word.text not in free:
                self.opaque.append("arithmetic evaluates what variables hold")
        for name in ("X", "Y", "Init", "Cond", "Post", "Offset", "Length"):
            self._arithmetic(node.get(name), moves)

    def _assignments(self, nodes: Iterable[Tree], moves: Moves) -> tuple[Assignment, ...]:
        return tuple(self._assignment(node, moves) for node in nodes if node.get("Name"))

    def _assignment(self, node: Tree, moves: Moves) -> Assignment:
        if node.get("Index"):
            self._arithmetic(node["Index"], moves)
        for element in (node.get("Array") or {}).get("Elems") or ():
            if element.get("Index"):
                self._arithmetic(element["Index"], moves)
            if element.get("Value"):
                self._word(element["Value"], moves)
        value = self._word(node["Value"], moves) if node.get("Value") else None
        return Assignment(node["Name"]["Value"], value)

    def _assigned(self, assignments: Iterable[Assignment], moves: Moves) -> None:
        """Variables that stay set for the commands after it."""
        for assignment in assignments:
            if not stays_harmless(assignment.name):
                self.doubts.append(f"setting {assignment.name} may change what later commands do")

    def _redirections(self, nodes: Iterable[Tree], moves: Moves) -> tuple[Redirection, ...]:
        found = []
        for node in nodes:
            if node.get("Hdoc"):
                self._expansions(node["Hdoc"], moves)
                continue
            target = self._word(node["Word"], moves)
            if node["Op"] not in REDIRECTIONS:
                self.opaque.append(f"the redirection {node['Op']} is not understood")
            if node["Op"] in WRITES_TO | {"<"} and not _is_descriptor(node["Op"], target):
                found.append(Redirection(node["Op"], target))
        return tuple(found)

    def _source(self, node: Tree) -> str:
        begin, end = node.get("Pos"), node.get("End")
        if not (begin and end):
            return ""
        return self._bytes[begin["Offset"] : end["Offset"]].decode(errors="replace")

    def _both(self, moves: Moves) -> tuple[Moves, Moves]:
        return moves, moves

    def _some(self, moves: Moves) -> Moves:
        return moves if len(moves) <= MOST_FOLDERS else ANYWHERE


def _is_descriptor(operator: str, target: Word) -> bool:
    """`>&1`, `>&-`, `<&3`: no file."""
    return (operator in (">&", "<&") and target.known and target.text.rstrip("-").isdecimal()) or (
        target.text == "-" and operator == ">&"
    )


def _leaves(words: tuple[Word, ...]) -> bool:
    """`exit` with a number at most: with more it stays."""
    numbers = [word.plain or "" for word in words[1:]]
    return bool(words) and words[0].plain == "exit" and len(numbers) < 2 and all(number.isdecimal() for number in numbers)


def _cd_target(words: tuple[Word, ...]) -> Word:
    given = [word for word in words if word.plain not in ("-P", "-L", "--")]
    if not given:
        return Word("~", tilde=True)
    unclear = len(given) > 1 or UNKNOWN in given[0].text or given[0].glob or given[0].text.startswith(("-", "+"))
    return NO_WORD if unclear else given[0]
