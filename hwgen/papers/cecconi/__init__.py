"""The figures of Cecconi, Smets, Benini, Verhelst 2017, computed anew."""
