"""The input stream of an HWC: which tiles of I to fetch, the fetches, and the ring that holds them."""
