"""The engine of all studies: steps done once, on this machine or on a farm, and their records in a ledger."""
