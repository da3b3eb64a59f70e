"""The page of results: each figure is in a kept file, beside the command that left it."""

import re

import pytest

from manual.results.figures import SENTENCES, SETTINGS
from manual.results.files import FILES
from manual.results.kept import DOCS, PAGE, rows
from manual.results.page import MARK, filled, loose_figures, plain, tables_of
from manual.results.sources import TABLES
from manual.results.tables import PRINTED

TEXT = PAGE.read_text(encoding="utf-8")
OF_WORDS = "| command | what |"
"""The head of the table that has no figures."""


def test_the_tables_are_what_is_kept() -> None:
    """`python -m manual.results.page` writes them."""
    assert filled(TEXT) == TEXT


def test_every_table_is_from_a_file() -> None:
    assert [mark for mark, table in tables_of(TEXT) if table[0] != OF_WORDS] == MARK.findall(TEXT)
    assert sorted(MARK.findall(TEXT)) == sorted(TABLES)


def test_a_command_leaves_each_file() -> None:
    """Files of tables and of figures in the text are kept ones, or the project's own; all of them are used."""
    used = [name for table in TABLES.values() for name in table.files.split()] + list(SENTENCES)
    own = {name for name in used if "/" in name}
    assert all((DOCS.parent / name).exists() for name in own)
    assert {*used} - own == {name.partition("/")[2] for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_the_makefile_has_the_command(name: str) -> None:
    makefile = (DOCS.parent / "Makefile").read_text(encoding="utf-8")
    command = FILES[name].command
    assert command in makefile + " ".join(TEXT.split()) or f"\n{command.removeprefix('make ')}: " in makefile


@pytest.mark.parametrize("name", SENTENCES)
def test_figures_in_the_text_are_in_a_file(name: str) -> None:
    for sentence in SENTENCES[name]:
        assert plain(sentence()) in plain(TEXT)


def test_no_figure_in_the_text_is_from_elsewhere() -> None:
    kept = [sentence() for of in SENTENCES.values() for sentence in of]
    assert loose_figures(TEXT, [*kept, *SETTINGS]) == []
    assert loose_figures("In 1,234 cycles, 0.5 % `1.25` more.", []) == ["1,234", "0.5"]
    assert loose_figures("In 1,234 cycles, 0.5 % more.", ["1,234 cycles"]) == ["0.5"]


@pytest.mark.parametrize("name", TABLES)
def test_a_planted_cell_is_found(name: str) -> None:
    mark, table = next((mark, table) for mark, table in tables_of(TEXT) if mark == name)
    line = next(line for line in table[2:] if re.search(r"\d", line))
    place = max(number for number, letter in enumerate(line) if letter.isdigit())
    planted = line[:place] + str((int(line[place]) + 1) % 10) + line[place + 1 :]
    before, after = TEXT.split(f"<!-- figures: {mark} -->")
    page = f"{before}<!-- figures: {mark} -->{after.replace(line, planted, 1)}"
    assert page != filled(page) == TEXT


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".csv") and "networks" not in name])
def test_what_is_kept_ran_as_predicted(name: str) -> None:
    for one in rows(name.removesuffix(".csv").partition("/")[2]):
        assert one.get("passed", "yes") == one.get("equal", "yes") == "yes"
        assert one.get("missing", "0") == one.get("wrong", "0") == "0"


DIVISIONS = {"one HWC": "shared", "a division for each layer": "per-layer"}


def test_the_printed_nests_ran_as_the_model_has_them() -> None:
    """`hwgen regress --printed` leaves rows.csv: every row of every nest."""
    every = rows("stoutchinin-2019_printed")
    nests = [one for one in rows("stoutchinin-2019_fig8") if one["nest"] in PRINTED]
    model = {f"{DIVISIONS[one['division']]} 1024 {PRINTED[one['nest']]}": one for one in nests}
    assert {row["configuration"] for row in every} == set(model)
    for configuration, one in model.items():
        ran = [row for row in every if row["configuration"] == configuration]
        assert len({row["layer"] for row in ran}) == len(ran) == int(one["layers"]) == 68
        for name in ("bytes", "cycles"):
            assert all(row[f"{name}_predicted"] == row[f"{name}_measured"] for row in ran)
            assert sum(int(row[f"{name}_measured"]) for row in ran) == int(one[name])
        busy = sum(float(row["utilisation"]) for row in ran) / len(ran)
        assert busy == pytest.approx(float(one["utilisation"]), abs=5e-5)  # rows have four digits


def test_the_rows_on_one_cluster_are_all_rows() -> None:
    """Every row once, within 1 % of the predicted cycles, and one with random stalls."""
    ran = rows("stoutchinin-2019_four_hwcs")
    assert [one["stalled"] for one in ran].count("yes") == 1
    every = [one for one in ran if one["stalled"] == "no"]
    assert len({one["layer"] for one in every}) == len(every) == 68
    assert max(abs(int(one["cycles_predicted"]) / int(one["cycles_measured"]) - 1) for one in every) <= 0.01
