"""The figures of Goetschalckx and Verhelst 2019, reproduced."""
