"""What a job of the vector unit costs: accesses and cycles."""
