"""A standard-cell library of a few cells with round figures, for tests, and a memory macro for it."""

from pathlib import Path

__all__ = ["write_library", "write_macro"]

INVERTER = """  cell (INV) {
    area : 1; cell_leakage_power : 2;
    pin (A) { direction : input; capacitance : 1; }
    pin (Y) { direction : output; function : "!A";
      timing () { related_pin : "A";
        cell_rise (two) { values ("10, 20", \\
                                  "10, 20"); }
        cell_fall (two) { values ("5, 15", "5, 15"); }
        rise_transition (two) { values ("0, 50", "0, 50"); }
        fall_transition (two) { values ("0, 50", "0, 50"); } } }
  }
"""
NAND = """  cell (NAND2) {
    area : 1.5; cell_leakage_power : 3;
    pin (A) { direction : input; capacitance : 1; }
    pin (B) { direction : input; capacitance : 2; }
    pin (Y) { direction : output; function : "!(A*B)";
      timing () { related_pin : "A B";
        cell_rise (two) { values ("20, 30", "70, 80"); }
        cell_fall (two) { values ("20, 30", "70, 80"); }
        rise_transition (two) { values ("0, 50", "0, 50"); }
        fall_transition (two) { values ("0, 50", "0, 50"); } } }
  }
"""
BUFFER = INVERTER.replace("INV", "BUF").replace("area : 1;", "area : 1.25;").replace("!A", "A")
NOR = NAND.replace("NAND2", "NOR2").replace("1.5", "1.75").replace("A*B", "A+B")
LIBRARY = (
    """
/* cells of a test */
library (few_cells) {
  delay_model : table_lookup;
  time_unit : "1ps";
  leakage_power_unit : "1nW";
  capacitive_load_unit (1, ff);
  nom_voltage : 1.1;
  nom_temperature : 85;
  lu_table_template (two) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 ("0, 100");
    index_2 ("0, 10");
  }
"""
    + INVERTER
    + BUFFER
    + NAND
    + NOR
    + """  cell (DFF) {
    area : 6; cell_leakage_power : 10;
    ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }
    pin (CK) { direction : input; capacitance : 1; clock : true; }
    pin (D) { direction : input; capacitance : 1;
      timing () { related_pin : "CK"; timing_type : setup_rising;
        rise_constraint (scalar) { values ("7"); } fall_constraint (scalar) { values ("9"); } } }
    pin (Q) { direction : output; function : "IQ";
      timing () { related_pin : "CK"; timing_type : rising_edge;
        cell_rise (two) { values ("100, 110", "100, 110"); }
        cell_fall (two) { values ("90, 100", "90, 100"); } } }
  }
}
"""
)
MACRO = """
library (ram_256x16) {
  nom_voltage : 1.1;
  cell (RAM_256x16) {
    memory () { type : ram; address_width : 8; word_width : 16; }
    area : 5000;
  }
}
"""


def write_library(folder: Path) -> Path:
    """The library as a file: cells INV, BUF, NAND2, NOR2 and DFF."""
    file = folder / "few_cells.lib"
    file.write_text(LIBRARY, encoding="utf-8")
    return file


def write_macro(folder: Path) -> Path:
    """A file with a memory of 256 words of 16 bits."""
    file = folder / "ram.lib"
    file.write_text(MACRO, encoding="utf-8")
    return file
