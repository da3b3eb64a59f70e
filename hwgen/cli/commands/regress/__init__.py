"""``hwgen regress`` and the regressions of clusters and pipelines."""
