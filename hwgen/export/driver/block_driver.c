/* The driver: see block_driver.h. Generated, do not edit. */
#include "block_driver.h"

static enum hwgen_result start_with(
    const struct hwgen_device *device, const struct block_write *writes, uint32_t count)
{
    if (HWGEN_READ(device, BLOCK_STATUS) & BLOCK_STATUS_BUSY)
        return HWGEN_BUSY;
    for (uint32_t i = 0; i < count; i++)
        HWGEN_WRITE(device, writes[i].address, writes[i].value + (writes[i].in_memory ? device->memory_base : 0u));
    HWGEN_BARRIER(device);
    HWGEN_WRITE(device, BLOCK_CONTROL, BLOCK_CONTROL_START);
    return HWGEN_OK;
}

/* @calls@ */

static enum hwgen_result result_of(uint32_t status)
{
    if (status & BLOCK_STATUS_FAILED)
        return HWGEN_FAILED;
    if (status & BLOCK_STATUS_DONE)
        return HWGEN_OK;
    return status & BLOCK_STATUS_BUSY ? HWGEN_BUSY : HWGEN_IDLE;
}

enum hwgen_result block_poll(const struct hwgen_device *device)
{
    return result_of(HWGEN_READ(device, BLOCK_STATUS));
}

enum hwgen_result block_acknowledge(const struct hwgen_device *device, struct hwgen_end *end)
{
    const uint32_t status = HWGEN_READ(device, BLOCK_STATUS);
    const enum hwgen_result result = result_of(status);

    if (result != HWGEN_OK && result != HWGEN_FAILED)
        return result;
    if (end) {
        end->status = status;
        end->error = BLOCK_STATUS_ERROR(status);
        end->address = HWGEN_READ(device, BLOCK_FAULT_ADDRESS);
    }
    HWGEN_WRITE(device, BLOCK_CONTROL, BLOCK_CONTROL_CLEAR);
    return result;
}

enum hwgen_result block_wait(const struct hwgen_device *device, uint32_t polls, struct hwgen_end *end)
{
    for (uint32_t i = 0; polls == 0 || i < polls; i++)
        if (block_poll(device) != HWGEN_BUSY)
            return block_acknowledge(device, end);
    return HWGEN_TIMEOUT;
}

void block_counters(const struct hwgen_device *device, struct block_counters *counters)
{
/* @counters@ */
}
