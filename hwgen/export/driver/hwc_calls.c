enum hwgen_result hwc_probe(const struct hwgen_device *device)
{
    if (HWGEN_READ(device, HWC_IDENTITY) != HWC_IDENTITY_VALUE)
        return HWGEN_NO_BLOCK;
    return HWGEN_READ(device, HWC_DIGEST) == HWC_DIGEST_VALUE ? HWGEN_OK : HWGEN_OTHER_HARDWARE;
}

enum hwgen_result hwc_start(const struct hwgen_device *device, const struct hwc_program *program)
{
    return start_with(device, program->writes, program->count);
}

void hwc_abort(const struct hwgen_device *device)
{
    HWGEN_WRITE(device, HWC_CONTROL, HWC_CONTROL_ABORT);
}
