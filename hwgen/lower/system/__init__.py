"""The way from the schedule of one layer to the programs of several clusters that share a DRAM."""
