/* Writes the settings of a layer and starts it; HWGEN_BUSY, and nothing is written, while another one runs.
   An HWC refuses the program of another one: then the end has HWC_ERROR_OTHER_HWC. */
enum hwgen_result hwc_start(const struct hwgen_device *device, const struct hwc_program *program);

/* Stops a layer; its end, HWC_ERROR_ABORTED, comes when its accesses have been answered. */
void hwc_abort(const struct hwgen_device *device);
