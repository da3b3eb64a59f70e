enum hwgen_result cluster_probe(const struct hwgen_device *device)
{
    return HWGEN_READ(device, CLUSTER_IDENTITY) == CLUSTER_IDENTITY_VALUE ? HWGEN_OK : HWGEN_NO_BLOCK;
}

void cluster_store_program(const struct hwgen_device *device, const struct cluster_program *program)
{
    for (uint32_t i = 0; i < program->program.bytes; i++)
        HWGEN_STORE(device, program->program.base + i, (uint8_t)(program->words[i / 4u] >> 8u * (i % 4u)));
}

enum hwgen_result cluster_start(const struct hwgen_device *device, const struct cluster_program *program)
{
    return start_with(device, program->writes, program->count);
}

void cluster_abort(const struct hwgen_device *device)
{
    HWGEN_WRITE(device, CLUSTER_CONTROL, CLUSTER_CONTROL_ABORT);
}
