"""What a cluster has around it on a board: a serial line to the host, a bridge from it, and a memory."""
