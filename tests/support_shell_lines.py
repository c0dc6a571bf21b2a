"""Lines of shell made at random: from a grammar of bash, with mistakes put into them, and from loose pieces.

Every word that could be taken for a command is a canary: a program of the sandbox in `support_shell_runs`, which does nothing
but be seen. So whatever a reader overlooks, bash runs and it shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

CANARIES = tuple(f"c{number}" for number in range(10))
"""Those with an odd number fail, so that loops end; the others succeed."""
WORDS = ("a", "b", "v", "w", "x", "y", "E", "EN", "EOF", "F")
"""Arguments, names of variables, ends of documents: canaries too, if bash takes them for commands."""
VARIABLES = {
    "v": "w",
    "U": "a b",
    "T": "c8 w",
    "S": "$(c6)",
    "N": "a[$(c7)]",
    "M": "v",
    "L": "`c9`",
}
"""The environment of each line: what a reader cannot see, and would run if it were evaluated. `x` and `z` are not set."""

DEEPEST = (2, 3, 4, 5, 6, 7)
"""How deep a line may be nested: most are short, and so understood."""
_SYMBOL = re.compile("«(.+?)»")

GRAMMAR: dict[str, tuple[str, ...]] = {
    "line": (
        *("«list»",) * 12,
        *("«list»\n«list»",) * 2,
        *("«list»; «list»", "«list»;«list»", "«list» & «list»", "«list»&«list»", "«list» #«comment»\n«list»", " «list» ", "\t«list»"),
        *("«list»\n\n«list»\n", "«list» \\\n«list»", "«document»", "«document»«list»", "«list»\n«document»", "#«comment»\n«list»"),
        *("«list» # «comment»", "«list»;# «comment»\n«list»", "«list»\r\n«list»", "if «list»\nthen «list»\nfi", "«compound»"),
    ),
    "list": (*("«pipe»",) * 6, "«pipe» && «pipe»", "«pipe» || «pipe»", "«pipe»&&«pipe»", "«pipe»||\n«pipe»", "«pipe»; «pipe»"),
    "pipe": (*("«command»",) * 7, "«command» | «command»", "«command»|«command»", "«command» |& «command»", "«command» |\n«command»"),
    "command": (*("«simple»",) * 9, "«compound»", "«compound» «redirection»", "! «simple»", "time «simple»", "time -p «simple»", "!«simple»"),
    "simple": (
        "«canary»",
        *("«canary» «word»",) * 6,
        *("«canary» «word» «word»",) * 4,
        *("«canary»  «word»\t«word»", "«canary» \\\n«word»", "«canary» «word»\\\n«word»", "«redirection» «canary» «word»"),
        *("«canary» «word» «redirection»", "«canary» «redirection» «word»", "«canary» «word»«redirection»", "«assignment» «canary» «word»"),
        *("«assignment»", "«assignment» «assignment»", "«redirection»", "«builtin»", "«builtin»", "«builtin»", "«wrapper»", "«word»"),
        "«canary» $(«list»)",
        "«canary» \"«quoted»\"",
        "«canary» \"«quoted»«quoted»«quoted»\"",
        "«canary» «parameter»",
    ),
    "canary": (
        *("«name»",) * 60,
        *("'«name»'", '"«name»"', "\\«name»", "c\\\n1", "c'1'", "c\"2\"", "c\"\"3", "$'«name»'", "$'\\x63'4", "c$'\\65'", "./p", "{c1,w}"),
        *("$v", "${z:-c2}", "$(c3)", "c$z", "c?", "c[1]", '"c$((1))"', '$"c2"', "~/p"),
    ),
    "name": CANARIES,
    "builtin": (
        *("echo «word»",) * 5,
        *("echo «word» «word»", "echo -n «word»", "printf «word» «word»", "printf -v «word» «word»", ": «word»", ": \"«quoted»\"", "true", "false"),
        *("test «word»", "test -n «word»", "test «word» = «word»", "[ «word» ]", "[ -v «word» ]", "[ «word» -eq «word» ]", "[ -f «word» ]"),
        *("export x=«word»", "export «word»", "declare x=«word»", "declare -i x=«word»", "declare -a x=(«word» «word»)", "declare «word»"),
        *("declare -n x=«word»; echo $x", "declare -A x; x[«word»]=1", "declare -A x=([«word»]=«word»)", "declare -p «word»", "local x=«word»"),
        *("readonly y=«word»", "typeset x=«word»", "declare -i x; x=«word»", "let x=«arithmetic»", "let '«arithmetic»'", "let «word»"),
        *("read x <<< «word»", "read «word» <<< «word»", "read -a x <<< «word»", "set -- «word» «word»; echo \"$@\"", "set -e", "shift"),
        *("read «special» <<< '«text»'", "export «special»='«text»'", "set -x; «list»", "unset «word»", "unset x", "read x y", "read -r x", "trap '«list»' EXIT", "trap «word» EXIT", "trap - EXIT", "wait", "wait -n", "jobs", "type «word»", "cd d", "cd «word»"),
        *("hash -p /nowhere «name»", "alias «name»='«list»'", "shopt -s «word»", "eval «word»", "eval '«list»'", "eval «name» «word»", "eval \"«quoted»\""),
        *("exec «canary» «word»", "exec «redirection»", "command «canary» «word»", "command -v «word»", "command -p «canary»", "builtin echo «word»"),
        *("exec -a x «canary»", "mapfile x <<< «word»", "mapfile -C «name» -c 1 x <<< a", "getopts a x", "getopts «word» «word»", "return", "exit"),
        *("break", "continue", "enable -n echo", "umask 022", "pushd d", "popd", "dirs", "history", "fc -l", "compgen -W «word»", "caller", "times"),
        *("ulimit -n", "kill -l", "logout", "help", "bind", "complete -C «name» x", "disown", "jobs -x «canary» «word»", "history -s '«list»'; fc -s", "set -k; «list»", "set -o posix; «list»", "set +B; «list»", "set -f; «list»", "set -H; «list»", "set -o «word»; «list»", "set «word»; «list»", "test -R «word»", "test -v «word»"),
    ),
    "wrapper": (
        *("bash -c '«list»'", "sh -c '«list»'", "bash -c \"«quoted»\"", "bash -ec '«list»' «word»", "bash <<< '«list»'", "echo '«list»' | bash"),
        *("env «canary» «word»", "env x=«word» «canary»", "env -i «canary»", "nice «canary» «word»", "nohup «canary»", "timeout 5 «canary» «word»"),
        *("xargs «canary» <<< «word»", "find f -exec «canary» {} ';'", "find f -exec «canary» {} +", "setsid «canary»", "stdbuf -o0 «canary»"),
        *("env -S '«canary» a'", "bash -c «word»", "command eval '«list»'", "builtin eval '«list»'", "sh -c '«list»' «word»", "bash -s <<< '«list»'"),
    ),
    "compound": (
        *("{ «list»; }", "{ «list»\n}", "(«list»)", "( «list» )", "((«arithmetic»))", "(( «arithmetic» ))", "[[ «test» ]]", "[[ «test» ]]"),
        *("if «list»; then «list»; fi", "if «list»; then «list»; else «list»; fi", "if «list»; then «list»; elif «list»; then «list»; fi"),
        *("while c1; do «list»; done", "until c2; do «list»; done", "while «list»; do «list»; break; done", "until «list»; do break; done"),
        *("for x in «word» «word»; do «list»; done", "for x in «word»\ndo «list»\ndone", "for x; do «list»; done", "for x do «list»; done", "for «special» in «word»; do «list»; done"),
        *("for ((«arithmetic»; 0; «arithmetic»)); do «list»; done", "for ((x=0; x<1; x++)); do «list»; done", "for x in a; { «list»; }"),
        *("case «word» in «pattern») «list»;; esac", "case «word» in («pattern») «list» ;& «pattern») «list»;; esac", "case a in a) «list» ;;& *) «list»; esac"),
        *("case «word» in «pattern»|«pattern») «list»\n;; esac", "select x in «word»; do «list»; break; done", "coproc «simple»", "coproc x { «list»; }"),
        *("«function» { «list»; }; «function name» «word»", "«function» («list»)", "«function» { «list»; } «redirection»", "time { «list»; }"),
        *("{ «list»; } | { «list»; }", "(«list»; «list»)", "((«list»); «list»)", "{ «list» & } ; wait", "{«list»;}", "( («list») )"),
    ),
    "function": ("f()", "f ()", "function f", "function f()", "c4()", "function c4", "f-x()", "a()"),
    "function name": ("f", "f", "c4", "f-x", "a"),
    "pattern": ("a", "b", "*", "«word»", "«word»", "[ab]", "?(a|b)", "@(«word»|b)", '"«quoted»"', "a*", "!(a)", "\\(", "';;'"),
    "test": (
        *("«word»", "-n «word»", "-z «word»", "-e «word»", "«word» == «word»", "«word» = «pattern»", "«word» != «pattern»", "«word» =~ «word»"),
        *("«word» =~ «regex»", "«word» < «word»", "«word» -eq «word»", "-v «word»", "! «test»", "«test» && «test»", "«test» || «test»", "( «test» )"),
        *("«word» -nt «word»", "«word» == @(«word»|a)", "«word»\n== a", "-t 0", "-o «word»", "«word» > «word»"),
    ),
    "regex": ("^(a|b)$", "[[:alpha:]]", "a|b", "(«word»)", "^«word»", "a\\ b", "$v", "[«word»]", "(a b)", "\"«quoted»\"", "«word»|(c1 a)"),
    "arithmetic": (
        *("1", "1 + 2", "x", "x = 1", "x++", "v", "N", "a[0]", "a[«word»]", "«word»", "$(«list»)", "`«list»`", "${z:-1}", "«parameter»", "1 ? 2 : 3"),
        *("«arithmetic» + «arithmetic»", "(«arithmetic»)", "-«arithmetic»", "«arithmetic», «arithmetic»", "«arithmetic» << 1", "'1'", '"1"', "16#ff"),
        *("1 <2", "x=(1)", "1#1", "$((«arithmetic»))", "a['1']", "a[$(«list»)]=1", "$v", "08", "$'1'", "x<<=1", "1 > 2", "x #1", "\\1"),
    ),
    "assignment": (
        *("x=«word»", "x=", "x=1", "x+=«word»", "x=(«word» «word»)", "x=([1]=«word» «word»)", "x[0]=«word»", "x[«word»]=«word»", "x[«arithmetic»]=1"),
        *("x+=(«word»)", "PATH=«word»", "IFS=«word»", "x=$(«list»)", "x=`«list»`", "y=\"«quoted»\"", "x=~/a:~/b", "x={a,b}", "x=()", "x=(\n«word» # a\n)"),
        *("x=\\\n«word»", "PS4=«word»", "x=<(«list»)", "«special»=«word»", "«special»='«text»'", "SHELLOPTS=xtrace", "x=«word»«word»", "x['a b']=1", "x[a b]=1", "x[\"«quoted»\"]=1"),
    ),
    "redirection": (
        *("> «word»", ">«file»", ">> «file»", "< «file»", "<«word»", "2> «file»", "&> «file»", "&>> «file»", ">| «file»", "<> «file»", ">& «file»"),
        *("2>&1", ">&2", "<&0", "2>&-", "<&-", ">&-", "<&-«word»", ">&«word»", "{x}> «file»", "{x}<&-", "3< «file»", "<<< «word»", "<<<\"«quoted»\""),
        *("<<<«word»", "> >(«list»)", "< <(«list»)", ">&1-", "2>&1 > «file»", "> /dev/null", "< /dev/null", "1>«word»", "10>«file»", ">'«text»'"),
        *("> \"«quoted»\"", "<<< $(«list»)", ">«file»<«file»", ">\\\n«file»", "2>/dev/null", "&>«word»", ">&-«word»", "9<&0-", ">&$v", "x>«file»"),
    ),
    "file": ("f", "g", "h", "d/f", "new", "\"f\"", "'g'", "f\\\n", "f*", "~/f", "$v", "{f,g}", "./f", "f=1", "1", "-", "2"),
    "word": (
        *("«bare»",) * 16,
        *("'«text»'", "'«text»'", "\"«quoted»\"", "\"«quoted»\"", "\"«quoted»«quoted»\"", "\"«quoted»«quoted»«quoted»\"", "$'«text»'", "$'«escaped»'"),
        *("$\"«quoted»\"", "«word»«word»", "«word»«word»", "«parameter»", "«parameter»", "«parameter»", "$((«arithmetic»))", "$[«arithmetic»]"),
        *("$(«list»)", "$(«list»)", "`«list»`", "`«ticked»`", "<(«list»)", ">(«list»)", "«braces»", "«braces»«word»", "«glob»", "~/«bare»", "~", "~+"),
        *("$(< «file»)", "$(\n«list»\n)", "$( # «comment»\n«list»)", "$(«document»)", "$((«list»))", "$( («list») )", "«name»", "\\«any»", "«any»"),
        *("\"$(«list»)\"", "\"`«list»`\"", "\"«parameter»\"", "\"\"", "''", "a\\\nb", "x=«word»", "-«bare»", "--", "«unusual»", "@(«word»|a)", "!(a)"),
        *("$(case a in a) «list»;; esac)", "$(case a in (a) «list»;; esac)", "$(echo '«text»')", "$(echo \"«quoted»\")", "\"$(echo \"«quoted»\")\""),
    ),
    "bare": (*WORDS, "1", "2", "-n", "a.b", "a/b", "x=1", "%s", "a,b", "^", "a]b", "a}b", "!", "a=b", "%d", "@", ":", "a#b", "+x", "c1", "c2"),
    "unusual": ("é", "a\u00a0b", "\u2003", "a\rb", "\x0b", "\x0c", "“a”", "‘c1’", "{", "}", "]]", "[", "!!", "!c1", "^a^b", "if", "done", "\\\r", "ä=1", "%1"),
    "any": ("#", "'", '"', "\\", "$", "`", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "!", "*", "?", "~", "=", " ", "\n", "\t"),
    "text": ("a", "«name» a", "a b", "$(«name»)", "`«name»`", "«any»", "«text»«any»", "«text» «text»", "", "\n«name»", ";«name»;", "a\\\\", "E\n«name»\nE", "a[$(«name»)]", "a[$(«name»)]", "$(«name»)"),
    "special": ("RANDOM", "SECONDS", "LINENO", "PS4", "OPTIND", "IFS", "PATH", "HISTCMD", "ENV", "BASH_CMDS[a]"),
    "comment": ("a", " a b", "'", '"', " $(«name»)", "`", "\\", " «text»", "a \\", ")", " }", "(", "«any»«any»"),
    "escaped": ("\\'", "a\\'; «name»; \\'", "\\n«name»", "\\x41", "\\101", "\\\\", "\\c'", "\\u00e9", "\\x", "\\e", "a\\0b", "\\\"", "\\x{63}", "\\cx", "\\U41", "\\xfF"),
    "ticked": ("«name» \\`«name»\\`", "echo \\$v", "echo \\\\", "«name» '\\''", "«name» \"\\`«name»\\`\"", "«name» \\\\\\`«name»\\\\\\`", "«name» \\\"", "echo \"\\\"«name»\\\"\""),
    "quoted": (
        *("«text»", "a", "a", "$v", "${v}", "«parameter»", "«parameter»", "«parameter»", "$(«list»)", "$(«list»)", "`«list»`", "$((«arithmetic»))"),
        *("\\\"", "\\$", "\\`", "\\\\", "'", "$'a'", "$", "\\\n", "\\a", "!", "!!", "$(«list»)«quoted»", "«parameter»«quoted»", "#", "$[«arithmetic»]"),
        *("`«ticked»`", "$(echo \"«quoted»\")", "$(echo '«text»')", "${z:-\"«quoted»\"}", "${z:-'«text»'}", "}", "{", ")", "$@", "${x[@]}", "$*", "$1", "~"),
    ),
    "parameter": (
        *("$v", "$x", "$z", "$U", "$@", "$#", "$?", "$!", "$$", "$-", "$0", "$1", "$*", "$_", "${v}", "${#v}", "${#}", "${##}", "${#:-a}", "${!v}", "${!M}"),
        *("${«variable»«default»«default word»}",) * 6,
        *("${«variable»«default»}", "${«variable»«cut»«pattern»}", "${«variable»«cut»«default word»}", "${«variable»/«pattern»/«default word»}"),
        *("${«variable»//«default word»/«default word»}", "${«variable»/#«pattern»/a}", "${«variable»/%a/«word»}", "${«variable»/«word»}", "${v/a}"),
        *("${«variable»:«arithmetic»}", "${«variable»:«arithmetic»:«arithmetic»}", "${«variable»: -1}", "${«variable»^}", "${«variable»^^«pattern»}"),
        *("${«variable»,,}", "${«variable»,«pattern»}", "${«variable»@Q}", "${«variable»@P}", "${«variable»@E}", "${«variable»@A}", "${!«variable»*}"),
        *("${x[0]}", "${x[«arithmetic»]}", "${x[@]}", "${x[*]}", "${#x[@]}", "${!x[@]}", "${x[«word»]}", "${x[@]:1:2}", "${x[@]«default»«word»}"),
        *("${!«variable»}", "${!«variable»:-«word»}", "${@:1}", "${*%a}", "${@:-«default word»}", "${1:-«default word»}", "${#«variable»}", "${v\\\n}"),
        *("${ «list»; }", "${| «list»; }", "${«variable»:?«word»}", "${z?«default word»}", "${z:=«default word»}", "${z=«word»}", "${«variable»~}", "${-:-a}", "${?}"),
    ),
    "variable": ("v", "x", "z", "z", "z", "U", "S", "N", "L", "T", "1", "@", "x[0]", "x[@]"),
    "default": (":-", "-", ":+", "+", ":-", "-", ":?", "?", ":=", "="),
    "cut": ("#", "##", "%", "%%"),
    "default word": (
        *("«word»",) * 4,
        *("'«text»'", "'$(«list»)'", "\"«quoted»\"", "\"$(«list»)\"", "$'«text»'", "$'`«name»`'", "$\"«quoted»\"", "`«list»`", "$(«list»)", "a b", "«parameter»"),
        *("«text»", "\\}", "\\'", "\\\"", "'}'", "\"}\"", "'", "a'b'c", "{a", "{a,b}", "{a}", "<(«list»)", "«any»", "\n«name»\n", "#", "# «name»", "~", "$'\\''"),
        *("a;«name»", "${z:-«default word»}", "${z:-'«text»'}", "${z:-\"«quoted»\"}", "$((«arithmetic»))", "(«name»)", "a|«name»", "\\\n", "$", "$'", "$\""),
    ),
    "braces": ("{a,b}", "{«bare»,«bare»}", "{a,{b,c1}}", "{1..3}", "{a..c}", "{a}", "{,a}", "{a,}", "{«word»,«word»}", "x{a,b}y", "{a,b}{1,2}", "\\{a,b}", "{a,b\\}", "${v}{a,b}", "{a b,c}", "{\"a\",b}", "{$v,b}", "{a..", "{,}", "{a,b}=1", "{a,'b,c'}", "{a\\,b,c}"),
    "glob": ("*", "?", "[ab]", "d/*", "f*", "*.py", "[!a]*", "\\*", "[a", "d/[f]", "**", "f?", "[[:alpha:]]", "*\\", "[a'b'c]", "\"*\"*"),
}  # fmt: skip

DELIMITERS = (
    *(("E", "E"),) * 20,
    *(("'E'", "E"), ('"E"', "E")) * 8,
    *(("E", "E"), ("E", "E"), ("'E'", "E"), ('"E"', "E"), ("EOF", "EOF"), ("'EOF'", "EOF"), ("E", "E"), ("_E-1.x", "_E-1.x")),
    *(("\\E", "E"), ("$'E'", "E"), ("$'E\\x4e'", "EN"), ("$'E\\x4e'", "E\\x4e"), ('$"E"', "E"), ('$"E"', "$E"), ("E$v", "E$v"), ("E'N'", "EN")),
    *(("$(a)", "$(a)"), ("`a`", "`a`"), ("${E}", "${E}"), ("$E", "$E"), ("''", ""), ('""', ""), ("'E N'", "E N"), ("E\\\nN", "EN"), ("E\\ N", "E N")),
    *(("{a,b}", "{a,b}"), ("E*", "E*"), ("~", "~"), ("E#", "E#"), ('"E\\"N"', 'E"N'), ('"E\\$"', "E$"), ("'E\nN'", "E"), ("$((1))", "$((1))"), ("é", "é")),
    *(('"E', "E"), ("E;", "E"), ("-E", "-E"), ("'E\t'", "E\t"), ('"$E"', "$E"), ('"`a`"', "`a`"), ("\\", "\\"), ("E\\", "E"), ("[E]", "[E]"), ("E=1", "E=1")),
)  # fmt: skip
DOCUMENTS = (
    *("{c} <<{d}\n{b}\n{e}\n",) * 4,
    *("{c} <<-{d}\n\t{b}\n\t{e}\n", "{c} <<-{d}\n{b}\n \t{e}\n{e}\n", "{c} << {d}\n{b}\n{e}\n", "{c} <<{d}; {l}\n{b}\n{e}\n", "{c} <<{d} | {l}\n{b}\n{e}\n"),
    *("{c} <<{d} && {l}\n{b}\n{e}\n{l}\n", "{c} <<{d} <<F\n{b}\n{e}\n{b}\nF\n", "{c} <<{d}\n{b}\n{e} \n{l}\n{e}\n", "{c} <<{d}\n{b}\n{e}", "{c} <<{d}\n{b}"),
    *("{c} <<{d}\n{b}\\\n{e}\n{l}\n{e}\n", "{c} <<{d} > f\n{b}\n{e}\n", "{{ {c} <<{d}\n{b}\n{e}\n}}\n", "{c} $({c} <<{d}\n{b}\n{e}\n)\n", "{c} $({c} <<{d}\n{b}\n{e})\n"),
    *("{c} \"$({c} <<{d}\n{b}\n{e}\n)\"\n", "{c} `{c} <<{d}\n{b}\n{e}\n`\n", "({c} <<{d}\n{b}\n{e}\n)\n", "{c} <<{d}\n{e}\n{l}\n", "{c} <<{d} # {l}\n{b}\n{e}\n"),
    *("while {c}; do {l}; break; done <<{d}\n{b}\n{e}\n", "{c} <<{d} \\\n{w}\n{b}\n{e}\n", "{c} 3<<{d}\n{b}\n{e}\n", "{c} <<{d}\r\n{b}\r\n{e}\r\n", "{c} <<{d}\n{b}\n\n{e}\n"),
    *("if {c} <<{d}\n{b}\n{e}\nthen {l}; fi\n", "f() {{ {c} <<{d}\n{b}\n{e}\n}}; f\n", "{c} <<{d} $({l}\n)\n{b}\n{e}\n", "{c} <({c} <<{d}\n{b}\n{e}\n)\n", "{c} <<{d} \"a\nb\"\n{b}\n{e}\n"),
    *("{c} ${{z:-$({c} <<{d}\n{b}\n{e}\n)}}\n", "{c} <<{d}\n{b}\n{e}\\\n{l}\n{e}\n", "{c} <<{d}\n{b}\n\\{e}\n{e}\n", "{c} <<{d}{e}\n{b}\n{e}\n", "{c} <<{d}\\\n{w}\n{b}\n{e}\n{l}\n"),
)  # fmt: skip
BODIES = ("«quoted»", "«quoted»", "«quoted»«quoted»", "a", "«list»", "$(«list»)", "${z:-«default word»}", "${z:-«default word»}", "`«list»`", "", "«text»", "«quoted»\n«quoted»", "E", "\\E", "«quoted»\\")  # fmt: skip

MISTAKES = (
    *tuple("'\"`$(){}[]<>|&;#\\ \t\n=~*?!@^,:%/-+1aEc"),
    *("$'", '$"', "${", "$(", "$((", "))", "((", "$[", "[[", " ]]", "\\\n", "\\\\", "\r\n", "<<E\n", "\nE\n", "<<'E'\n", "<<<", "<(", ">&", "&>"),
    *(" c7 ", ";c7;", "\nc7\n", "$(c7)", "`c7`", "'c7'", ";;", ";&", " fi", " done", " esac", "; }", " in ", " do ", " then ", "coproc ", "time "),
    *("\\'", '\\"', "\\`", "\\$", "#\\\n", " #", "${z:-", "${z#", "${z/", "function ", "()", "x=(", "x[", "]=", "é", "\u00a0", "{a,", "..", "!(", "@(", "${#", "2>"),
)  # fmt: skip
PIECES = (*MISTAKES, *(f"{name} " for name in CANARIES), *(f" {word}" for word in WORDS), " ", " ", "\n", "; ", '"', '"', "'", "'", "}", ")", "`")


class ShellLines:
    """Makes lines; the same ones for the same seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)  # noqa: S311 — made to be made again
        self._deepest = max(DEEPEST)
        self._made: dict[str, Callable[[int], str]] = {"document": self._document}

    def line(self) -> str:
        kind = self.random.random()
        if kind < 0.07:
            return self._pieces()
        self._deepest = self.random.choice(DEEPEST)
        text = self._expanded("«line»", 0)
        return text if kind < 0.65 else self._with_mistakes(text)

    def _expanded(self, template: str, depth: int) -> str:
        return _SYMBOL.sub(lambda match: self._made_of(match[1], depth + 1), template)

    def _made_of(self, symbol: str, depth: int) -> str:
        if symbol in self._made:
            return self._made[symbol](depth)
        choices = GRAMMAR[symbol]
        if depth > self._deepest:  # the first ones lead to an end
            choices = choices[:3] if symbol != "parameter" else choices[:6]
        return self._expanded(self.random.choice(choices), depth)

    def _document(self, depth: int) -> str:
        written, end = self.random.choice(DELIMITERS)
        pieces = {
            "c": self._made_of("canary", depth),
            "l": self._made_of("list", depth + 2),
            "w": self._made_of("word", depth + 2),
            "b": self._expanded(self.random.choice(BODIES), depth + 1),
            "d": written,
            "e": end,
        }
        return self.random.choice(DOCUMENTS).format(**pieces)

    def _with_mistakes(self, text: str) -> str:
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            place = self.random.randrange(len(text) + 1)
            length = self.random.choice((0, 0, 0, 1, 1, 2, 5))
            text = text[:place] + self.random.choice((*MISTAKES, "")) + text[place + length :]
        return text

    def _pieces(self) -> str:
        return "".join(self.random.choices(PIECES, k=self.random.randint(2, 12)))
