/* What software does to run a layer: registers in their order, and where the tensors are. */
struct hwc_program {
    const struct hwc_write *writes;
    uint32_t count;
/* @regions@ */
};
