"""The program ``hwgen``: its commands by name, its exit status, Ctrl-C. No imports here: see `hwgen.cli.main`."""
