/* What software does to run a tile: registers. The streams of pixels and weights are the system's. */
struct pipeline_tile {
    const struct pipeline_write *writes;
    uint32_t count;
};
