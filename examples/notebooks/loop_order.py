# %% [markdown]
# # My loop order against the optimum
# Loops by name, outermost first, and the loop across which each operand is buffered. What a step leaves is done
# inside.

# %%
import hwgen

layer = hwgen.load("lenet:C3").layers[0]
mine = hwgen.Nest(layer, m=6, y=2, c=1, hold={"O": "c", "I": "c", "W": "c"})
mine

# %%
best = hwgen.schedule(layer, buffer="1KiB")["C3"]
best

# %% [markdown]
# Another one, and what all three cost: mine, this one, the best.

# %%
rows = hwgen.Nest(layer, y=1, m=8, c=3, k=1, hold={"O": "c", "I": "k", "W": "c"})
hwgen.predict([mine, rows, best])
