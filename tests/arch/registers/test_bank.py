"""Register banks as values: addresses from the builder, masks by access, and what contradicts itself is refused."""

from dataclasses import replace

import pytest

from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Field, setting, value_register

MODE = Field("mode", 0, 3, Access.RW, "Mode", reset=5)
FLAGS = Field("flags", 4, 2, Access.W1C, "Flags")
GO = Field("go", 8, 1, Access.PULSE, "Goes")
STOP = Field("stop", 9, 1, Access.PULSE, "Stops", while_busy=True)
LEVEL = Field("level", 16, 8, Access.RO, "Level")
MIXED = Content("mixed", "Every access", (MODE, FLAGS, GO, STOP, LEVEL))


def built() -> Bank:
    builder = BankBuilder("sample", "Registers of a sample")
    builder.place(0, [value_register("identity", 32, "Identity", Access.RO, reset=7, constant=True), MIXED])
    builder.place(0x40, [setting("size", 12, "Size", 9), setting("shift", 5, "Shift")])
    return builder.bank()


def test_the_builder_gives_consecutive_words_from_each_base_on() -> None:
    assert built().addresses == {"identity": 0, "mixed": 4, "size": 0x40, "shift": 0x44}


def test_a_register_knows_its_bits_by_access() -> None:
    mixed = built()["mixed"]
    assert (mixed.width, mixed.reset, mixed.writable, mixed.held) == (24, 5, True, True)
    assert mixed.written_mask == 0b11_0011_0111
    assert mixed.idle_mask == 1 << 8
    assert mixed.field("level").of(0xAB_0000) == 0xAB
    identity = built()["identity"]
    assert (identity.writable, identity.held, identity.written_mask, identity.reset) == (False, False, 0, 7)


def test_signals_are_named_by_register_and_field_and_constants_have_none() -> None:
    bank = built()
    assert [name for name, _ in bank.signals(*Access)] == [
        "mixed_mode",
        "mixed_flags",
        "mixed_go",
        "mixed_stop",
        "mixed_level",
        "size",
        "shift",
    ]
    assert [name for name, _ in bank.signals(Access.RW)] == ["mixed_mode", "size", "shift"]
    assert [register.name for register in bank.held] == ["mixed", "size", "shift"]


@pytest.mark.parametrize(
    ("field", "changes", "message"),
    [
        (MODE, {"low": 30}, "mode: expected bits inside a register of 32"),
        (MODE, {"width": 0}, "mode: expected bits inside a register of 32"),
        (MODE, {"reset": 8}, "mode: reset: expected below 8, got 8"),
        (GO, {"width": 2}, "go: a pulse has one bit and reads 0"),
        (GO, {"reset": 1}, "go: a pulse has one bit and reads 0"),
        (FLAGS, {"reset": 1}, "flags: bits that the hardware sets are 0 after reset"),
        (MODE, {"constant": True}, "mode: a constant is read only"),
        (MODE, {"while_busy": True}, "mode: only a pulse may be written while the block is busy"),
    ],
)
def test_a_field_that_contradicts_itself_is_refused(field: Field, changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        replace(field, **changes)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_fields_of_a_register_do_not_overlap_and_there_is_one() -> None:
    with pytest.raises(ValueError, match="mixed: flags: expected from bit 5 on, got 4"):
        replace(MIXED, fields=(replace(MODE, width=5), FLAGS))
    with pytest.raises(ValueError, match="mixed: expected at least one field"):
        replace(MIXED, fields=())


def test_a_bank_has_names_and_addresses_of_its_own() -> None:
    bank = built()
    size, shift = bank["size"], bank["shift"]
    for registers, message in (
        ((size, replace(size, address=0x48)), "two registers or fields of one name"),
        ((size, replace(shift, name="size")), "two registers or fields of one name"),
        ((shift, size), "expected ascending addresses of whole words"),
        ((replace(size, address=0x41),), "expected ascending addresses of whole words"),
        ((), "sample: expected at least one register"),
    ):
        with pytest.raises(ValueError, match=message):
            Bank("sample", "Registers of a sample", registers)
