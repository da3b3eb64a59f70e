"""The C++ that Verilator writes for what happens at a clock edge, statement by statement: what each reads and writes.

Only assignments and branches whose expressions have no side effects are understood; of other statements a superset of
what they write is known, which is enough to leave them where they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Assignment", "Branch", "Node", "Statement", "enclosed", "statements", "variables", "written"]

_WORD = re.compile(r"(?<![\w.])(?:vlSelfRef\.)?([A-Za-z_]\w*)")
_NO_VARIABLE = re.compile(
    r"CData|SData|IData|QData|EData|if|else|const|auto|vlSelf|vlSelfRef|Vtop__ConstPool\w*|VL_(UN)?LIKELY"
)
_PURE = re.compile(
    r"VL_(EXTENDS?|LTS|GTS|LTES|GTES|MULS|DIV|DIVS|MODDIV|MODDIVS|SHIFTL|SHIFTR|SHIFTRS|REDXOR|COUNTONES|ONEHOT0?|"
    r"BITSEL|SEL|NEGATE)_[IQE]+|VL_REDXOR_\d+"
)
"""Functions of Verilator's runtime that compute a value from values."""
_INDEX = r"(?:\s*\[(?:[^\[\]]|\[[^\]]*\])*\])*"
_ASSIGNMENT = re.compile(rf"\s*((?:vlSelfRef\.)?([A-Za-z_]\w*)({_INDEX}))\s*=(?!=)\s*([^;]+);")
_WRITTEN = re.compile(rf"(?<![\w.])(?:vlSelfRef\.)?([A-Za-z_]\w*){_INDEX}\s*(?:=(?!=)|[-+*/&|^]=|<<=|>>=|\+\+|--)")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(([^;]*)")


@dataclass
class Assignment:
    """``target = value``, where the target is a variable or, with an index, a part of one."""

    target: str
    name: str
    index: str
    value: str


@dataclass
class Branch:
    """``if (condition) ... else ...``."""

    condition: str
    then: "list[Node]"
    otherwise: "list[Node]"


Node = Assignment | Branch


@dataclass
class Statement:
    """One statement.

    Members
    -------
    text : as Verilator wrote it.
    node : the same, if what it writes depends on what it reads and on nothing else, and it does nothing besides.
    reads, writes : names of variables.
    fresh : variables that it gives a value to as a whole, in any case, before it reads them.
    """

    text: str
    node: Node | None
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)


def statements(body: str) -> list[Statement]:
    """What a function's text consists of."""
    return [_statement(text) for text in _split(body) if text.strip()]


def variables(text: str) -> set[str]:
    """The names in a text that may be variables."""
    return {name for name in _WORD.findall(text) if not _is_pure(name)}


def written(nodes: Sequence[Node], indent: str = "    ") -> str:
    """The text of understood statements."""
    lines = []
    for node in nodes:
        if isinstance(node, Assignment):
            lines.append(f"{indent}{node.target} = {node.value};\n")
            continue
        lines += [f"{indent}if {node.condition} {{\n", written(node.then, f"{indent}    ")]
        if node.otherwise:
            lines += [f"{indent}}} else {{\n", written(node.otherwise, f"{indent}    ")]
        lines.append(f"{indent}}}\n")
    return "".join(lines)


def enclosed(text: str) -> tuple[str, str]:
    """The text of the bracket that it begins with, and the rest."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[: at + 1], text[at + 1 :]
    return text, ""


def _split(body: str) -> Iterator[str]:
    """The statements' texts."""
    start = depth = at = 0
    while at < len(body):
        character = body[at]
        if string := _STRING.match(body, at):
            at = string.end() - 1
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        ends = depth == 0 and (
            character == ";"
            or (character == "}" and not re.match(r"\s*(else\b|while\b|[;,])", body[at + 1 : at + 80]))
        )
        at += 1
        if ends:
            yield body[start:at]
            start = at
    yield body[start:]


def _statement(text: str) -> Statement:
    node, rest = _node(text)
    if node is not None and not rest.strip():
        statement = Statement(text, node)
        if _note(node, statement):
            statement.fresh = _fresh([node])
            return statement
    bare = _STRING.sub("", text)
    called = [inside for name, inside in _CALL.findall(bare) if not _is_pure(name)]
    names = {name for part in called for name in variables(part)}
    return Statement(text, None, variables(bare), names | set(_WRITTEN.findall(bare)))


def _is_pure(name: str) -> bool:
    return bool(_PURE.fullmatch(name) or _NO_VARIABLE.fullmatch(name))


def _node(text: str) -> tuple[Node | None, str]:
    """The assignment or branch that a text begins with, None if it is something else, and the rest."""
    branch = re.match(r"\s*if\s*(?=\()", text)
    if branch is None:
        match = _ASSIGNMENT.match(text)
        if match is None:
            return None, text
        return Assignment(match[1], match[2], match[3], match[4].strip()), text[match.end() :]
    condition, rest = enclosed(text[branch.end() :])
    then, rest = _block(rest)
    otherwise: list[Node] | None = []
    if (found := re.match(r"\s*else\b", rest)) and then is not None:
        rest = rest[found.end() :]
        if rest.lstrip().startswith("{"):
            otherwise, rest = _block(rest)
        else:
            node, rest = _node(rest)
            otherwise = None if node is None else [node]
    return (None if then is None or otherwise is None else Branch(condition, then, otherwise)), rest


def _block(text: str) -> tuple[list[Node] | None, str]:
    """What a text has in the braces that it begins with; None if it has none, or something that is not understood."""
    if not text.lstrip().startswith("{"):
        return None, text
    inside, after = enclosed(text.lstrip())
    nodes, rest = [], inside[1:-1]
    while rest.strip():
        node, rest = _node(rest)
        if node is None:
            return None, after
        nodes.append(node)
    return nodes, after


def _note(node: Node, statement: Statement) -> bool:
    """Add what is read and written; False if an expression may do more than that."""
    if isinstance(node, Assignment):
        statement.writes.add(node.name)
        return _reads(node.index, statement) and _reads(node.value, statement)
    inside = [_note(part, statement) for part in (*node.then, *node.otherwise)]
    return _reads(node.condition, statement) and all(inside)


def _reads(expression: str, statement: Statement) -> bool:
    if '"' in expression or _WRITTEN.search(expression):
        return False
    for match in _WORD.finditer(expression):
        if _is_pure(match[1]):
            continue
        if expression[match.end() :].lstrip().startswith("("):
            return False
        statement.reads.add(match[1])
    return True


def _fresh(nodes: Sequence[Node]) -> set[str]:
    """What is given a value as a whole in any case, and not read before."""
    found: set[str] = set()
    read: set[str] = set()
    for node in nodes:
        if isinstance(node, Assignment):
            read |= variables(node.index) | variables(node.value)
            found |= {node.name} - read if not node.index else set()
        else:
            read |= variables(node.condition)
            found |= (_fresh(node.then) & _fresh(node.otherwise)) - read
            inside = Statement("", None)
            _note(node, inside)
            read |= inside.reads
    return found
