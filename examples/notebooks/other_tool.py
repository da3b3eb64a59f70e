# %% [markdown]
# # Another tool's mapping
# AccelForge 1.0.467 maps this layer, on a buffer of 1 KiB, as `m:4 p:4 q:14 [O in Buf] c:1 [W,I in Buf] p:1 q:1 r:1
# s:1 m:1`, and claims 121,511,936 bytes, the least there are. `vgg9.json` has all three. This is what the mapping
# moves, and why the claim is another number:

# %%
import hwgen

theirs = hwgen.import_mapping("vgg9.json", "accelforge")
theirs

# %% [markdown]
# And the least, with the same buffer:

# %%
best = hwgen.schedule(theirs.nest.layer, buffer="1KiB")
best

# %%
theirs.nest

# %%
best["vgg9"]
