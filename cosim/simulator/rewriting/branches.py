"""Values that only branches read are computed in these branches.

A value that is computed before a sequence of statements is put into the branches that read it: into the innermost one
that all its readers in a statement are in, or into several. There it has to be what it was before the sequence, so no
statement that writes what it depends on may come before; such statements are made to come after, if they may.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from cosim.simulator.rewriting.statements import Assignment, Branch, Node, Statement, variables, written

__all__ = ["Value", "in_branches"]

COPIES = 3
"""The largest number of branches in which one value is computed."""

Step = tuple[Branch, bool]
Path = tuple[Step, ...]


class Value:
    """Statements that give variables a value that depends on other variables."""

    def __init__(self, parts: Sequence[Statement]) -> None:
        self.nodes = [deepcopy(part.node) for part in parts if part.node is not None]
        self.writes = set().union(*(part.writes for part in parts))
        self.reads = set().union(*(part.reads for part in parts)) - self.writes


@dataclass(frozen=True)
class _Use:
    """Where a variable is read: in which value or statement, in which of its branches."""

    owner: int
    in_value: bool
    path: Path


def in_branches(values: Sequence[Value], rest: Sequence[Statement]) -> str:
    """The text of values and then statements, values in branches wherever that is possible.

    The values come in an order in which each may depend on those before it.
    """
    nodes = [None if statement.node is None else [deepcopy(statement.node)] for statement in rest]
    order = _Order(rest)
    uses: dict[str, list[_Use]] = defaultdict(list)
    for number, statement in enumerate(rest):
        found = nodes[number]
        if found is None:
            for name in statement.reads:
                uses[name].append(_Use(number, False, ()))
        else:
            _note(found, (), number, False, uses)
    for number, value in enumerate(values):
        _note(value.nodes, (), number, True, uses)
    gone: set[int] = set()
    for number in reversed(range(len(values))):
        value = values[number]
        readers = [
            use
            for name in value.writes
            for use in uses[name]
            if not (use.in_value and (use.owner in gone or use.owner == number))
        ]
        places = _places(readers)
        if places is None or not order.put({use.owner for use in places if not use.in_value}, value.reads):
            continue
        for place in places:
            branch, then = place.path[-1]
            inside = branch.then if then else branch.otherwise
            copied = deepcopy(value.nodes)
            inside[0:0] = copied
            _note(copied, place.path, place.owner, place.in_value, uses)
        gone.add(number)
    first = [written(value.nodes) for number, value in enumerate(values) if number not in gone]
    return "".join([*first, *_merged(rest, nodes, order.numbers())])


def _merged(rest: Sequence[Statement], nodes: Sequence[list[Node] | None], numbers: Iterable[int]) -> Iterator[str]:
    """The text of statements in an order, neighbours with the same condition as one branch."""
    last: Branch | None = None
    for number in numbers:
        found = nodes[number]
        node = found[0] if found is not None else None
        if isinstance(node, Branch) and last is not None and _is_under(last, node.condition):
            last.then += node.then
            last.otherwise += node.otherwise
            continue
        if last is not None:
            yield written([last])
        last = node if isinstance(node, Branch) else None
        if found is None:
            yield rest[number].text + "\n"
        elif last is None:
            yield written(found)
    if last is not None:
        yield written([last])


def _is_under(branch: Branch, condition: str) -> bool:
    """Whether the branch has this condition, and leaves it as it is."""
    return branch.condition == condition and not _assigned([branch]) & variables(condition)


def _assigned(nodes: Sequence[Node]) -> set[str]:
    """What these statements write."""
    names: set[str] = set()
    for node in nodes:
        names |= {node.name} if isinstance(node, Assignment) else _assigned([*node.then, *node.otherwise])
    return names


def _note(nodes: Sequence[Node], path: Path, owner: int, in_value: bool, uses: dict[str, list[_Use]]) -> None:
    """Note where these statements read which variables."""
    for node in nodes:
        reads = (
            variables(node.index) | variables(node.value)
            if isinstance(node, Assignment)
            else variables(node.condition)
        )
        for name in reads:
            uses[name].append(_Use(owner, in_value, path))
        if isinstance(node, Branch):
            _note(node.then, (*path, (node, True)), owner, in_value, uses)
            _note(node.otherwise, (*path, (node, False)), owner, in_value, uses)


def _places(readers: Sequence[_Use]) -> list[_Use] | None:
    """The branches to compute a value in for these readers; None if one is in no branch, or if they are many."""
    if not all(use.path for use in readers):
        return None
    found: dict[tuple[int, bool], list[Path]] = defaultdict(list)
    for use in readers:
        found[use.owner, use.in_value].append(use.path)
    places: list[_Use] = []
    for (owner, in_value), paths in found.items():
        together = _common(paths)
        if together:
            places.append(_Use(owner, in_value, together))
            continue
        branches: dict[tuple[int, bool], list[Path]] = defaultdict(list)
        for path in paths:
            branches[id(path[0][0]), path[0][1]].append(path)
        places += [_Use(owner, in_value, _common(part)) for part in branches.values()]
    return places if len(places) <= COPIES else None


def _common(paths: Sequence[Path]) -> Path:
    """The innermost branch that all are in."""
    common = paths[0]
    for path in paths[1:]:
        same = 0
        while same < min(len(common), len(path)) and _is_same(common[same], path[same]):
            same += 1
        common = common[:same]
    return common


def _is_same(one: Step, other: Step) -> bool:
    return one[0] is other[0] and one[1] == other[1]


class _Order:
    """The order of statements, which may change as long as each reads and writes what it did."""

    def __init__(self, body: Sequence[Statement]) -> None:
        self._writers: dict[str, set[int]] = defaultdict(set)
        self._body = body
        self._successors: list[set[int]] = [set() for _ in body]
        written_by: dict[str, int] = {}
        read_by: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(body):
            for name in (statement.reads | statement.writes) & written_by.keys():
                self._successors[written_by[name]].add(number)
            for name in statement.writes:
                for earlier in read_by.pop(name, []):
                    self._successors[earlier].add(number)
                written_by[name] = number
                self._writers[name].add(number)
            for name in statement.reads:
                read_by[name].append(number)
        self._after = [1 << number for number in range(len(body))]
        self._before = list(self._after)
        for number, successors in enumerate(self._successors):
            successors.discard(number)
        for number in reversed(range(len(body))):
            for later in self._successors[number]:
                self._after[number] |= self._after[later]
        for number in range(len(body)):
            for later in self._successors[number]:
                self._before[later] |= self._before[number]

    def put(self, owners: set[int], names: set[str]) -> bool:
        """Have these statements read variables as they are before all; False if that is not possible."""
        pairs = [(owner, w) for owner in owners for name in names for w in self._writers[name] if w != owner]
        if any(self._writers[name] & owners for name in names):
            return False
        if any(self._after[writer] >> owner & 1 for owner, writer in pairs):
            return False
        kept = list(self._after), list(self._before)
        added: list[tuple[int, int]] = []
        for owner, writer in pairs:
            if self._after[writer] >> owner & 1:  # because of those before
                self._after, self._before = kept
                for earlier, later in added:
                    self._successors[earlier].discard(later)
                return False
            if not self._after[owner] >> writer & 1:
                self._successors[owner].add(writer)
                added.append((owner, writer))
                after, before = self._after[writer], self._before[owner]
                for number in _bits(before):
                    self._after[number] |= after
                for number in _bits(after):
                    self._before[number] |= before
        return True

    def numbers(self) -> Iterator[int]:
        """The statements in their order: those with the condition of the one before, then what waited for it."""
        waiting = [0] * len(self._successors)
        for successors in self._successors:
            for later in successors:
                waiting[later] += 1
        ready = [number for number in reversed(range(len(waiting))) if not waiting[number]]
        alike: dict[str | None, set[int]] = defaultdict(set)
        for number in ready:
            alike[self._condition(number)].add(number)
        last: str | None = None
        while ready:
            number = min(alike[last]) if last is not None and alike[last] else ready[-1]
            ready.remove(number)
            last = self._condition(number)
            alike[last].discard(number)
            yield number
            for later in sorted(self._successors[number], reverse=True):
                waiting[later] -= 1
                if not waiting[later]:
                    ready.append(later)
                    alike[self._condition(later)].add(later)

    def _condition(self, number: int) -> str | None:
        node = self._body[number].node
        return node.condition if isinstance(node, Branch) else None


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
