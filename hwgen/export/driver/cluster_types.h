/* What software does to run a layer: the words that lead the cluster, registers, and where all of it is in DRAM. */
struct cluster_program {
    const struct cluster_write *writes;
    uint32_t count;
    const uint32_t *words;
    struct hwgen_region input, weights, bias, output, partial, program;
};
