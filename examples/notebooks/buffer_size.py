# %% [markdown]
# # Buffer size against traffic
# The best schedules of all layers of a network for each size of buffer. No schedule of the space moves less.

# %%
import hwgen

plan = hwgen.schedule("lenet", buffer=["256", "512", "1KiB", "2KiB", "4KiB", "8KiB"])
plan.plot()

# %% [markdown]
# Layer by layer; `bound_ratio` is how far a proven lower bound is below.

# %%
plan.of_size("512")
