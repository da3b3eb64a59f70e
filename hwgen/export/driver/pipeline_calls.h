/* Lets the weights in, once before the first tile; to be awaited as a tile is. */
enum hwgen_result pipeline_load(const struct hwgen_device *device);

/* Writes the settings of a tile and starts it; HWGEN_BUSY, and nothing is written, while another one runs. */
enum hwgen_result pipeline_start(const struct hwgen_device *device, const struct pipeline_tile *tile);
