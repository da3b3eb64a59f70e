# %% [markdown]
# # Which hardware for my network
# The smallest cluster that reaches 500 images a second at 50 MHz. Without `confirm=False` it is also
# run in the RTL.

# %%
import hwgen

choice = hwgen.choose("digits.onnx", fps=500, mhz=50, confirm=False)
choice

# %% [markdown]
# What the network takes on it, and on built-in hardware:

# %%
hwgen.forecast("digits.onnx", [choice.hardware, "cluster_64_vector", "hwc_16"], resident=True, mhz=50)
