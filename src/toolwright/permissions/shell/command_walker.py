"""From the syntax tree of a command line to its simple commands.

Follows every branch: lists, pipes, loops, functions, what words expand (`expansions`), and texts that are handed to another
shell. Keeps track of `cd`, because it changes what the paths after it mean. Knows no rule, program but wrappers, or file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from toolwright.permissions.shell.command_line import HERE, Assignment, CommandLine, Moves, Part, Redirection
from toolwright.permissions.shell.evaluations import evaluated, sets_unclear_options
from toolwright.permissions.shell.expansions import Expansions
from toolwright.permissions.shell.grammar import NotParsed, Tree, shell_tree
from toolwright.permissions.shell.words import NO_WORD, UNKNOWN, Word
from toolwright.permissions.shell.wrappers import Unwrapped, unwrapped

MAX_FOLDERS = 8
MAX_NESTED_TEXTS = 64
MAX_REMEMBERED_LENGTH = 4_000

NOWHERE: Moves = frozenset()
ANYWHERE: Moves = frozenset({(NO_WORD,)})

CHANGE_NAMES = frozenset("alias unalias enable hash bind complete compgen mapfile readarray shopt fc".split())  # noqa: SIM905 — a word list reads better
RUN_IN_THIS_SHELL = frozenset((".", "source", "eval", "command", "builtin"))

Parser = Callable[[str], Tree]


def read_line(text: str, parse: Parser = shell_tree) -> CommandLine:
    """The command line that `text` is. Never raises: what cannot be parsed says so in `unparsed`."""
    try:
        tree = parse(text)
    except NotParsed as problem:
        return CommandLine(text, unparsed=str(problem))
    reader = _Walker(parse)
    try:
        reader.script(tree, text, HERE)
    except RecursionError:
        return CommandLine(text, unparsed="it is nested too deeply")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return CommandLine(text, unparsed=f"its syntax tree has a shape that is not known ({error!r})")
    return CommandLine(
        text,
        tuple(reader.parts),
        doubts=tuple(dict.fromkeys(reader.doubts)),
        opaque=tuple(dict.fromkeys(reader.opaque)),
        functions=tuple(dict.fromkeys(reader.functions)),
    )


@lru_cache(maxsize=256)
def _remembered(text: str) -> CommandLine:
    return read_line(text)


def read_command(text: str) -> CommandLine:
    """`read_line`, remembering what was read: a session runs the same commands again and again."""
    return _remembered(text) if len(text) <= MAX_REMEMBERED_LENGTH else read_line(text)


class _Walker(Expansions):
    """Collects parts while it walks. `moves` goes in and comes out as a pair: where we are if it succeeded, and if not."""

    def __init__(self, parse: Parser) -> None:
        super().__init__()
        self.parse = parse
        self.parts: list[Part] = []
        self.functions: list[str] = []
        self.texts = 0
        self._bytes = b""
        self._certain = True

    def script(self, tree: Tree, text: str, moves: Moves) -> None:
        self._bytes = text.encode(errors="replace")
        self.statements(tree.get("Stmts") or (), moves)

    def statements(self, statements: Iterable[Tree], moves: Moves) -> Moves:
        for statement in statements:
            succeeded, failed = self.statement(statement, moves)
            moves = self._some(succeeded | failed)
        return moves

    def statement(self, statement: Tree, moves: Moves) -> tuple[Moves, Moves]:
        nodes = statement.get("Redirs") or ()
        redirections = self.redirections(nodes, moves)
        command = statement.get("Cmd")
        if command is None or command["Type"] != "CallExpr":
            if redirections:
                self.parts.append(Part((), redirections=redirections, moves=moves, certain=self._certain))
            after = self.command(command, moves) if command else (moves, moves)
        else:
            after = self._call(command, moves, redirections)
        if nodes:  # what cannot be opened keeps the command from running at all: `exit < none` goes on
            after = after[0], self._some(after[1] | moves)
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
            self.statement(node["Y"], moves)
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
        self.words(loop.get("Items") or (), moves)
        if loop.get("Type") == "CStyleLoop":
            for name in ("Init", "Cond", "Post"):
                self.arithmetic(loop.get(name), moves)
        self.assigned((Assignment((loop.get("Name") or {}).get("Value", ""), NO_WORD),))
        return self._loop(node.get("Do") or (), moves)

    def _loop(self, statements: Sequence[Tree], moves: Moves) -> tuple[Moves, Moves]:
        after = self.statements(statements, moves)
        if after != moves:
            self.doubts.append("a loop changes the working folder")
            after = ANYWHERE
        return after, after

    def _walk_CaseClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self.word(node["Word"], moves)
        after = entered = moves
        for item in node.get("Items") or ():
            self.words(item.get("Patterns") or (), entered)
            ended = self.statements(item.get("Stmts") or (), entered)
            after = self._some(after | ended)
            if item["Op"] != ";;":  # the items behind it may run after it
                entered = self._some(entered | ended)
        return self._both(after)

    def _walk_FuncDecl(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        name = (node.get("Name") or {}).get("Value", "")
        self.functions.append(name)
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
            self.word(node, moves)
        for name in ("X", "Y"):
            if isinstance(node.get(name), dict):
                self._test(node[name], moves)

    def _walk_ArithmCmd(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        self.arithmetic(node.get("X"), moves)
        return moves, moves

    def _walk_LetClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        for expression in node.get("Exprs") or ():
            self.arithmetic(expression, moves)
        return moves, moves

    def _walk_DeclClause(self, node: Tree, moves: Moves) -> tuple[Moves, Moves]:
        assignments = self.assignments(node.get("Args") or (), moves)
        self.assigned(assignments)
        words = [Word(node["Variant"]["Value"])]
        words += [
            self.word(argument["Value"], moves)
            for argument in node.get("Args") or ()
            if argument.get("Naked") and argument.get("Value")
        ]
        self._add(Part(tuple(words), assignments=assignments, moves=moves, certain=self._certain))
        return moves, moves

    # simple commands

    def _call(self, node: Tree, moves: Moves, redirections: tuple[Redirection, ...]) -> tuple[Moves, Moves]:
        assignments = self.assignments(node.get("Assigns") or (), moves)
        words = tuple(self.words(node.get("Args") or (), moves))
        part = Part(words, self.source(node), assignments, redirections, moves, certain=self._certain)
        if not words:
            self.assigned(assignments)
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
            if self.texts > MAX_NESTED_TEXTS:
                raise NotParsed("there are too many texts in it")
            tree = self.parse(text)
            self.script(tree, text, moves)
        except NotParsed as problem:
            self.opaque.append(f"a text in it cannot be read: {problem}")
        self._bytes = before

    def _look_at(self, part: Part) -> None:
        if part.words and not part.words[0].known:
            self.opaque.append(f"the program {part.words[0].text.replace(UNKNOWN, '…')!r} is only known when it runs")
        if part.name in CHANGE_NAMES or sets_unclear_options(part):
            self.opaque.append(f"{part.name} changes what later words mean")
        if (reason := evaluated(part)) is not None:
            self.opaque.append(reason)

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
        moves_unseen = name in (None, "popd") or (inner is not None and name in RUN_IN_THIS_SHELL)
        return (ANYWHERE, ANYWHERE) if moves_unseen else (moves, moves)

    def source(self, node: Tree) -> str:
        begin, end = node.get("Pos"), node.get("End")
        if not (begin and end):
            return ""
        return self._bytes[begin["Offset"] : end["Offset"]].decode(errors="replace")

    def _both(self, moves: Moves) -> tuple[Moves, Moves]:
        return moves, moves

    def _some(self, moves: Moves) -> Moves:
        return moves if len(moves) <= MAX_FOLDERS else ANYWHERE


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
