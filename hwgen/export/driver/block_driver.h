/* The driver of one block. Generated, do not edit.

   block_probe once; then, for each run, block_start and block_wait, or block_start and, in the interrupt's
   handler, block_acknowledge. What to run is in programs/LAYER.h. */
#ifndef BLOCK_DRIVER_H
#define BLOCK_DRIVER_H

#include "hwgen_device.h"
#include "block_registers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A register to write. In_memory: the value is an offset into the memory, whose address is added. */
struct block_write {
    uint32_t address;
    uint32_t value;
    uint32_t in_memory;
};

/* @types@ */

/* What is counted from the start of a run on. */
struct block_counters {
/* @counters@ */
};

/* Whether the block is there: HWGEN_OK, HWGEN_NO_BLOCK or HWGEN_OTHER_HARDWARE. Writes nothing. */
enum hwgen_result block_probe(const struct hwgen_device *device);

/* @calls@ */

/* How the block is: HWGEN_BUSY, HWGEN_OK after a run, HWGEN_FAILED, or HWGEN_IDLE. */
enum hwgen_result block_poll(const struct hwgen_device *device);

/* Takes the interrupt back, after block_poll said HWGEN_OK or HWGEN_FAILED; what it said is the result. end, if
   it is not null, gets how the run ended. For interrupt handlers: it reads two registers and writes one. */
enum hwgen_result block_acknowledge(const struct hwgen_device *device, struct hwgen_end *end);

/* Polls until the end, at most polls times (0: for ever), and acknowledges it. */
enum hwgen_result block_wait(const struct hwgen_device *device, uint32_t polls, struct hwgen_end *end);

/* Reads the counters. */
void block_counters(const struct hwgen_device *device, struct block_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
