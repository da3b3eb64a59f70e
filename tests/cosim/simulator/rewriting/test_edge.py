"""The function for a clock edge, values first: by hand, random functions over some cycles, and other forms."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosim.simulator.rewriting.edge import rearrange
from tests.cosim.simulator.rewriting.cpp import execute_text
from tests.cosim.simulator.rewriting.test_branches import REGISTERS, WIRES, expressions, updates

NAME = "Vtop___024root___nba_sequent__TOP__"
CLOCK = "harness__DOT__clk"
TRIGGER = f"""void Vtop___024root___eval_triggers_vec__act(Vtop___024root* vlSelf) {{
    // Body
    vlSelfRef.__VactTriggered[0U] = (QData)((IData)(
        ((IData)(vlSelfRef.{CLOCK})
         & (~ (IData)(vlSelfRef.__Vtrigprevexpr___TOP__{CLOCK}__0)))));
}}
"""
DRIVEN, SHOWN = "harness__DOT__input", [*REGISTERS[:3], "r9"]
"""What the test bench writes, and what it reads."""


def model(folder: Path, bodies: Sequence[str], *, local: Sequence[str] = (), trigger: str = TRIGGER) -> None:
    """Write a model whose functions at an edge have these bodies; the variables are those of the random texts."""
    head = "    auto& vlSelfRef = std::ref(*vlSelf).get();\n    // Locals\n"
    head += "".join(f"    CData/*7:0*/ {name};\n    {name} = 0;\n" for name in local) + "    // Body\n"
    calls = "".join(f"        {NAME}{n}(vlSelf);\n" for n in range(len(bodies)))
    text = trigger + "".join(
        f"void {NAME}{n}(Vtop___024root* vlSelf) {{\n{head}{body}\n}}\n" for n, body in enumerate(bodies)
    )
    text += "void Vtop___024root___eval_nba(Vtop___024root* vlSelf) {\n    // Body\n"
    text += f"    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {{\n{calls}    }}\n}}\n"
    (folder / "Vtop___024root__0.cpp").write_text(text, encoding="utf-8")
    members = (*REGISTERS, *WIRES, *SHOWN[3:], DRIVEN, CLOCK)
    kinds = "".join(f"        CData/*7:0*/ {name};\n" for name in members if name not in local)
    (folder / "Vtop___024root.h").write_text(f"    struct {{\n{kinds}    }};\n", encoding="utf-8")
    rows = [(CLOCK, "VLVF_PUB_RW"), (DRIVEN, "VLVF_PUB_RW"), *((name, "VLVF_PUB_RD") for name in SHOWN)]
    symbols = "".join(
        f'    scope->varInsert("{name}", &(TOP.{name}), false, VLVT_UINT8, VLVD_NODIR|{access}, 0, 0);\n'
        for name, access in rows
    )
    (folder / "Vtop__Syms__Slow.cpp").write_text(symbols, encoding="utf-8")


def members(text: str) -> str:
    """The text with the variables as members."""
    return re.sub(r"\b([rw]\d|harness__DOT__input)\b", r"vlSelfRef.\1", text)


def bodies(folder: Path) -> list[tuple[list[str], str]]:
    """The local variables and the body of each function that does something."""
    text = (folder / "Vtop___024root__0.cpp").read_text(encoding="utf-8")
    found = []
    for match in re.finditer(rf"(?ms)^void {NAME}\d\(Vtop___024root\* vlSelf\) \{{\n(.*?)^\}}", text):
        head, _, body = match[1].partition("    // Body\n")
        if body.strip():
            found.append((re.findall(r"(?m)^    CData/\*7:0\*/ (\w+)", head), body))
    return found


def test_signals_are_local_and_computed_where_they_are_read(tmp_path: Path) -> None:
    body = "if (r1) { r2 = w1; }\nr1 = (r1 + 1U);\nw0 = (r1 & 3U);\nw1 = (w0 ^ r3);\n"
    model(tmp_path, [members(body)])
    assert rearrange(tmp_path) == f"{NAME}0"
    ((local, found),) = bodies(tmp_path)
    assert local == ["w0", "w1"]
    assert re.sub(r"\s+", " ", found.strip()) == (
        "if (vlSelfRef.r1) { w0 = (vlSelfRef.r1 & 3U); w1 = (w0 ^ vlSelfRef.r3); vlSelfRef.r2 = w1; } "
        "vlSelfRef.r1 = (vlSelfRef.r1 + 1U);"
    )


def test_what_the_test_bench_writes_or_reads_stays(tmp_path: Path) -> None:
    model(tmp_path, [members("r1 = w0;\nr2 = w1;\nw0 = harness__DOT__input;\nr0 = (r1 + 1U);\nw1 = r1;\n")])
    assert rearrange(tmp_path) == f"{NAME}0"
    ((local, found),) = bodies(tmp_path)
    assert local == ["w1"]
    assert found.index("vlSelfRef.w0 = vlSelfRef.harness__DOT__input") > found.index("vlSelfRef.r1 = vlSelfRef.w0")
    assert found.index("vlSelfRef.r0 = ") > found.index("vlSelfRef.r1 = ")


@pytest.mark.parametrize("kind", ["VlWide<16>/*511:0*/", "VlUnpacked<CData/*1:0*/, 64>"])
def test_constants_of_all_functions_are_declared(tmp_path: Path, kind: str) -> None:
    model(tmp_path, [members("r1 = w0;\n"), members("w0 = (r1 + Vtop__ConstPool__CONST_1);\n")])
    file = tmp_path / "Vtop___024root__0.cpp"
    constant = f"extern const {kind} Vtop__ConstPool__CONST_1;\n"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"void {NAME}1", f"{constant}\nvoid {NAME}1"), encoding="utf-8")
    assert rearrange(tmp_path) == f"{NAME}0"
    found = file.read_text(encoding="utf-8")
    assert found.index(f"    {constant}") < found.index("+ Vtop__ConstPool__CONST_1")


@pytest.mark.parametrize(
    ("trigger", "change"),
    [
        (TRIGGER.replace(CLOCK, "harness__DOT__other"), ""),
        (TRIGGER.replace("& (~", "| (~"), ""),
        (TRIGGER * 2, ""),
        (TRIGGER, "    if ((2ULL & vlSelfRef.__VnbaTriggered[0U])) {"),
        (TRIGGER, f"    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {{\n        {NAME}7(vlSelf);"),
    ],
    ids=["another clock", "another edge", "two triggers", "another trigger", "an unknown function"],
)
def test_another_form_stays_as_it_is(tmp_path: Path, trigger: str, change: str) -> None:
    model(tmp_path, [members("r1 = w0;\nw0 = (r1 + 1U);\n")], trigger=trigger)
    file = tmp_path / "Vtop___024root__0.cpp"
    if change:
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {", change), encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    assert rearrange(tmp_path) is None
    assert file.read_text(encoding="utf-8") == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_functions_do_the_same_in_every_cycle(tmp_path: Path, data: st.DataObject) -> None:
    known = [*REGISTERS, *WIRES, DRIVEN]
    written = data.draw(st.lists(updates(known, REGISTERS), min_size=1, max_size=6))
    wires = [
        f"{wire} = {data.draw(expressions([*REGISTERS, *WIRES[:number]]))};" for number, wire in enumerate(WIRES)
    ]
    wires.insert(data.draw(st.integers(0, len(wires))), f"r3 = {data.draw(expressions(REGISTERS))};")
    temporary = [f"t = {data.draw(expressions([*REGISTERS, *WIRES]))};", "if (t) { r2 = t; }"]
    wires.append(f"r9 = {data.draw(expressions([*REGISTERS, *WIRES]))};")
    split = data.draw(st.integers(0, len(wires)))
    parts = ["\n".join([*temporary, *written, *wires[:split]]), "\n".join(wires[split:])]
    model(tmp_path, [members(part) for part in parts], local=["t"])
    state = {name: data.draw(st.integers(0, 255)) for name in (*REGISTERS, *WIRES)} | {"t": 0, "r9": 0}
    execute_text("\n".join(wires), state)  # as after the first evaluation
    other = dict(state)
    assert rearrange(tmp_path) == f"{NAME}0"
    ((local, body),) = bodies(tmp_path)
    for _ in range(4):
        state[DRIVEN] = other[DRIVEN] = data.draw(st.integers(0, 255))
        state["t"] = 0
        execute_text("\n".join(parts), state)
        other |= dict.fromkeys(local, 77)
        execute_text(body, other)
        assert [state[name] for name in SHOWN] == [other[name] for name in SHOWN]
