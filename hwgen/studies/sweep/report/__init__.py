"""The results of a sweep as a page and as figures."""
