"""The figures of the page of results, from the files that the commands beside them left."""
