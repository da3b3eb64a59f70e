# %% [markdown]
# # A first schedule
# The loop nest of a layer that takes the fewest cycles on hardware with 1 KiB of buffers, and what that then does.

# %%
import hwgen

layer = hwgen.Layer(
    name="conv", input_channels=8, output_channels=16, input_height=14, input_width=14, kernel=3, padding=1
)
plan = hwgen.schedule(layer, "hwc", buffer="1KiB")
plan

# %% [markdown]
# The nest, with what is held across which loop, and the bytes that it takes:

# %%
plan["conv"]

# %% [markdown]
# The Verilog of this hardware, simulated. *equal*: every access is the predicted one; *exact*: so is the
# output, to the bit.

# %%
hwgen.cosim(plan)
