/* What software does to run a layer: the words that lead the cluster, registers, and where all of it is in DRAM.
   Of a network weights holds what all of its layers need, and there may be more inputs and outputs than these. */
struct cluster_program {
    const struct cluster_write *writes;
    uint32_t count;
    const uint32_t *words;
/* @regions@ */
};
