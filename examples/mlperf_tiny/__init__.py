"""The four networks of MLPerf Tiny: published models where they are, else the same shapes with random weights."""
