"""The tables in the folder of sweeps: their columns, rows of several sweeps in one, the files."""
