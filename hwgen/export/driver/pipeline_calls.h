/* Lets the weights in, once before the first tile; to be awaited as a tile is. */
enum hwgen_result pipeline_load(const struct hwgen_device *device);

/* Writes the settings of a tile and starts it as a run of its own; HWGEN_BUSY, and nothing is written, during a run. */
enum hwgen_result pipeline_start(const struct hwgen_device *device, const struct pipeline_tile *tile);

/* The same for a tile of a run of several, the first of which comes while nothing runs; `more` says that another tile
   follows. HWGEN_BUSY, and nothing is written, while the settings of the tile before are needed: call it again.
   HWGEN_FAILED after an error. The next tile is to be queued while this one runs: the watchdog counts meanwhile. */
enum hwgen_result pipeline_queue(const struct hwgen_device *device, const struct pipeline_tile *tile, int more);
