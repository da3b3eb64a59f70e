# %% [markdown]
# # Another tool's mapping
# AccelForge 1.0.467 maps this layer, on a buffer of 1 KiB, as `m:4 p:4 q:14 [O in Buf] c:1 [W,I in Buf] p:1 q:1 r:1
# s:1 m:1`, and claims 121,511,936 bytes, the least there are. It counts the padding as data; this is what the mapping
# moves:

# %%
import hwgen

layer = hwgen.Layer(
    name="vgg9", input_channels=512, output_channels=512, input_height=28, input_width=28, kernel=3, padding=1
)
theirs = hwgen.Nest(layer, m=4, y=4, x=14, c=1, hold={"O": "c", "I": "c", "W": "c"})
hwgen.predict(theirs)

# %% [markdown]
# And the least, with the same buffer:

# %%
best = hwgen.schedule(layer, buffer="1KiB")
best

# %%
theirs

# %%
best["vgg9"]
