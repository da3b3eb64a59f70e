"""The figures of Goetschalckx, Verhelst 2019, computed anew."""
