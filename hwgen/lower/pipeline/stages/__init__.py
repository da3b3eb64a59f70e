"""The kinds of stages as lowering knows them, a module each."""
