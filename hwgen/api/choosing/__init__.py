"""The hardware that fits a network and a budget: what there is to choose from, what is planned, what is taken."""
