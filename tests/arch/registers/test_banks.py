"""The banks of HWC, cluster and pipeline: what they share, and that every sentence and name is fit to be printed."""

import re

import pytest

from hwgen.arch.registers.bank import Access, Bank
from hwgen.arch.registers.cluster import CLUSTER_WATCHDOG
from hwgen.arch.registers.control import CONTROL_ADDRESS, Control, Status, error_of
from hwgen.arch.registers.errors import ClusterError, DmaError, ErrorCode, HwcError, PipelineError, Refusal
from hwgen.arch.registers.hwc import KEY
from hwgen.arch.registers.pipeline import tile_settings
from tests.export.registers.test_files import bank_named

ERRORS: tuple[type[ErrorCode], ...] = (HwcError, ClusterError, PipelineError)


@pytest.fixture(params=["hwc", "cluster", "pipeline"])
def bank(request: pytest.FixtureRequest) -> Bank:
    return bank_named(request.param)


def test_every_bank_begins_with_identity_control_and_status(bank: Bank) -> None:
    identity, control, status = bank.registers[:3]
    assert (identity.name, control.name, status.name) == ("identity", "control", "status")
    assert control.address == CONTROL_ADDRESS == 4
    assert identity.reset.to_bytes(4, "big") == {"hwc": b"HWC1", "cluster": b"CLU1", "pipeline": b"FUS1"}[bank.name]
    assert {field.name: field.mask for field in control.fields}.items() >= {"start": 1, "clear": 2}.items()
    waits = {"queued": 8} if bank.name == "pipeline" else {}
    assert {field.name: field.mask for field in status.fields} == {
        "busy": 1, "done": 2, "failed": 4, "error": 0xFF00, **waits,
    }  # fmt: skip
    assert status.field("error").codes in ERRORS
    assert error_of(0x1504) == 0x15


def test_settings_are_zero_after_reset_but_for_key_and_watchdog(bank: Bank) -> None:
    resets = {register.name: register.reset for register in bank.held if register.reset}
    assert resets == {"hwc": {"key": KEY}, "cluster": {"watchdog": CLUSTER_WATCHDOG}, "pipeline": {}}[bank.name]


def test_names_are_identifiers_and_meanings_single_sentences(bank: Bank) -> None:
    for register in bank:
        for name, meaning in [
            (register.name, register.meaning),
            *((field.name, field.meaning) for field in register.fields),
        ]:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert meaning[0].isupper()
            assert not meaning.endswith(".")
            assert '"' not in meaning


@pytest.mark.parametrize("codes", [*ERRORS, DmaError], ids=lambda codes: codes.__name__)
def test_error_codes_fit_their_field_and_have_a_meaning(codes: type[ErrorCode]) -> None:
    assert codes(0).name == "NONE"
    assert all(code < 256 and code.meaning[0].isupper() for code in codes)
    if codes is not DmaError:
        assert {code.name: code.entry for code in Refusal} == {
            name: codes[name].entry for name in Refusal.__members__
        }


def test_a_load_waits_until_the_pipeline_is_idle_and_a_start_does_not() -> None:
    pipeline = bank_named("pipeline")
    assert pipeline["control"].idle_mask == Control.LOAD
    assert pipeline["control"].written_mask == Control.START | Control.LOAD | Control.CLEAR | Control.MORE
    assert Status.DONE | Status.FAILED == 6


def test_the_settings_of_a_tile_leave_out_the_watchdog() -> None:
    pipeline = bank_named("pipeline")
    assert {register.name for register in pipeline.held} - {one.name for one in tile_settings(pipeline)} == {
        "watchdog"
    }
    assert all(field.access is Access.RW for one in tile_settings(pipeline) for field in one.fields)
