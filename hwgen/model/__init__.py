"""What a schedule costs: exact access counts, buffer needs, cycles, energy; and the literal oracles that judge it."""
