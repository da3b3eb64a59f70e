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
