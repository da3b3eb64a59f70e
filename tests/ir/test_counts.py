"""Counts: sums, the JSON form, and what makes two of them differ."""

from hwgen.ir.counts import Access, Counts

COUNTS = Counts({
    ("tcdm", "I", "read"): Access(10, 10, 4),
    ("tcdm", "W", "read"): Access(7, 7, 2),
    ("tcdm", "O", "read_partial"): Access(3, 12, 3),
    ("tcdm", "O", "write_partial"): Access(3, 12, 3),
    ("tcdm", "O", "write"): Access(5, 5, 2),
    ("tcdm", "B", "read"): Access(2, 8, 2),
})  # fmt: skip


def test_totals_leave_the_bias_out() -> None:
    assert COUNTS.operand_bytes("O") == 29
    assert COUNTS.total_bytes() == 46
    assert COUNTS.total_words() == 14
    assert COUNTS["tcdm", "I", "read"] + Access(1, 1, 1) == Access(11, 11, 5)
    assert COUNTS["dram", "I", "read"] == Access()


def test_json_form_writes_zeros() -> None:
    empty = {"bytes": 0, "words": 0}
    assert Counts().as_json() == {
        "tcdm": {
            "I": {"read": empty},
            "W": {"read": empty},
            "O": {"read_partial": empty, "write_partial": empty, "write": empty},
            "B": {"read": empty},
        }
    }
    assert COUNTS.as_json()["tcdm"]["I"]["read"] == {"bytes": 10, "words": 4}
    full = COUNTS.as_json(elements=True)
    assert full["tcdm"]["O"]["write"] == {"elements": 5, "bytes": 5, "words": 2}
    assert Counts.from_json(full) == COUNTS


def test_the_levels_have_their_own_quantities() -> None:
    counts = Counts(
        {
            ("dram", "P", "read"): Access(32, 128, beats=16, axi_bursts=1, blocks=1, jumps=1, row_misses=1),
            ("tcdm_dma", "I", "read"): Access(4, 4, 2),
        }
    )
    data = counts.as_json()
    assert data["dram"]["P"]["read"] == {
        "bytes": 128, "beats": 16, "axi_bursts": 1, "blocks": 1, "jumps": 1, "row_misses": 1,
    }  # fmt: skip
    assert data["dram"]["O"]["write"]["row_misses"] == 0
    assert data["tcdm_dma"]["I"]["read"] == {"bytes": 4, "words": 2}
    assert "P" not in data["tcdm_dma"]
    assert Counts.from_json(counts.as_json(elements=True)).differences(counts) == []
    assert (counts + counts)["dram", "P", "read"].beats == 32
    assert (counts + counts.at("dram")).differences(counts + counts) == [
        (("tcdm_dma", "I", "read"), "bytes", 4, 8),
        (("tcdm_dma", "I", "read"), "words", 2, 4),
    ]


def test_differences_name_key_quantity_and_both_values() -> None:
    other = Counts(
        {**COUNTS.accesses, ("tcdm", "I", "read"): Access(10, 10, 5), ("dram", "I", "read"): Access(1, 1, 1)}
    )
    assert COUNTS.differences(COUNTS) == []
    assert COUNTS.differences(other) == [
        (("tcdm", "I", "read"), "words", 4, 5),
        (("dram", "I", "read"), "bytes", 0, 1),
    ]
    assert other.differences(COUNTS, ("elements",)) == [(("dram", "I", "read"), "elements", 1, 0)]
