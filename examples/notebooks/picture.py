# %% [markdown]
# # A picture through the RTL
# A quantised network with its own weights, and a picture. Its layers run in the simulated Verilog.

# %%
import hwgen

answer = hwgen.run("digits.onnx", "seven.png", "hwc_16")
answer

# %% [markdown]
# The scores out of the hardware; the greatest is the digit.

# %%
answer.outputs["answers"].argmax()
