/* Copies the words of a program to where it is run from; once, it stays there. */
void cluster_store_program(const struct hwgen_device *device, const struct cluster_program *program);

/* Writes the registers of a program and starts it; HWGEN_BUSY, and nothing is written, while another one runs. */
enum hwgen_result cluster_start(const struct hwgen_device *device, const struct cluster_program *program);

/* Stops a program; its end, CLUSTER_ERROR_ABORTED, comes when its accesses have been answered. */
void cluster_abort(const struct hwgen_device *device);
