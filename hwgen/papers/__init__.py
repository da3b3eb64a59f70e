"""Publications, computed anew: a room a paper, with its model, its search, its rows, claims, figures and command."""
