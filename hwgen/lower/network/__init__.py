"""From the layers of a network to programs of one cluster, and to one image of its DRAM."""
