"""Derived settings that disagree are found, whichever of them is wrong; those of sound programs are not."""

import re
from random import Random

import pytest

from hwgen.arch.registers.relations import contradictions
from hwgen.ir.document import InputError
from hwgen.ir.lanes import Ports
from hwgen.lower.hwc import Program, compile_layer, require_agreement
from tests.random.layers import hwc, schedules_for

DERIVED = re.compile(
    r"input_(line|slabs?|lane_row_\d|phase_[123]|(ring|line|row|column|quotient|phase)_step_\d+)|write_last|repeats_\d+_\d+|rest_\d+_\d+"
)
NAMES = ("two_tiles", "columns", "fig8", "sums_of_channels")


def programs(name: str) -> list[Program]:
    hardware = hwc(name)
    return [
        compile_layer(one, hardware)
        for one in schedules_for(hardware, Random(f"relations {name}"), 4, most_macs=6000)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_derived_setting_that_is_wrong_is_found(name: str) -> None:
    changed = 0
    for program in programs(name):
        values = {register: value for register, _, value in program.registers}
        assert not list(contradictions(program.parameters, values))
        for register in filter(DERIVED.fullmatch, values):
            wrong = 0 if register == "write_last" else program.parameters.input_elements + 3
            assert list(contradictions(program.parameters, {**values, register: wrong})), register
            changed += 1
    assert changed >= 4 * 8


def test_words_of_wide_ports_begin_on_multiples_of_them() -> None:
    hardware = hwc("fig8").model_copy(update={"ports": Ports(I=64, W=128, O=256)})
    (one,) = schedules_for(hardware, Random("relations of ports"), 1, most_macs=6000)
    program = compile_layer(one, hardware)
    values = {register: value for register, _, value in program.registers}
    assert len(program.parameters.word_addresses) == 11
    assert not list(contradictions(program.parameters, values))
    for register, word in program.parameters.word_addresses.items():
        wrong = values[register] + word // 2
        found = list(contradictions(program.parameters, {**values, register: wrong}))
        assert found == [f"{register}: expected a multiple of {word}, got {wrong}"]


def test_the_first_one_is_told_in_a_line() -> None:
    program = programs("two_tiles")[0]
    values = {register: value for register, _, value in program.registers}
    with pytest.raises(InputError) as caught:
        require_agreement(program.parameters, {**values, "input_slabs": 0}, "conv1")
    assert re.fullmatch(
        r"conv1: settings: input_slabs: expected 1 to \d+ of \d+ bytes in \d+, got 0", str(caught.value)
    )
