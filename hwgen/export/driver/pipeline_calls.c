enum hwgen_result pipeline_probe(const struct hwgen_device *device)
{
    return HWGEN_READ(device, PIPELINE_IDENTITY) == PIPELINE_IDENTITY_VALUE ? HWGEN_OK : HWGEN_NO_BLOCK;
}

enum hwgen_result pipeline_load(const struct hwgen_device *device)
{
    if (HWGEN_READ(device, PIPELINE_STATUS) & PIPELINE_STATUS_BUSY)
        return HWGEN_BUSY;
    HWGEN_WRITE(device, PIPELINE_CONTROL, PIPELINE_CONTROL_LOAD);
    return HWGEN_OK;
}

enum hwgen_result pipeline_start(const struct hwgen_device *device, const struct pipeline_tile *tile)
{
    return start_with(device, tile->writes, tile->count);
}

enum hwgen_result pipeline_queue(const struct hwgen_device *device, const struct pipeline_tile *tile, int more)
{
    const uint32_t status = HWGEN_READ(device, PIPELINE_STATUS);

    if (status & PIPELINE_STATUS_FAILED)
        return HWGEN_FAILED;
    if (status & PIPELINE_STATUS_QUEUED)
        return HWGEN_BUSY;
    for (uint32_t i = 0; i < tile->count; i++)
        HWGEN_WRITE(device, tile->writes[i].address,
            tile->writes[i].value + (tile->writes[i].in_memory ? device->memory_base : 0u));
    HWGEN_BARRIER(device);
    HWGEN_WRITE(device, PIPELINE_CONTROL, PIPELINE_CONTROL_START | (more ? PIPELINE_CONTROL_MORE : 0u));
    return HWGEN_OK;
}
