/* What the drivers of all blocks have in common: how registers and memory are reached, and how a call ended.

   C99; no allocation, no operating system, no data of its own. Where registers or memory are not mapped into the
   address space of the processor, define the macros of the second part before this file is included (with
   -DHWGEN_PORT='"my_port.h"', for instance). */
#ifndef HWGEN_DEVICE_H
#define HWGEN_DEVICE_H

#include <stdint.h>

#ifdef HWGEN_PORT
#include HWGEN_PORT
#endif

/* One block, where it is. Macros of one's own may give the two pointers another meaning. */
struct hwgen_device {
    volatile void *registers; /* of the first register */
    volatile void *memory;    /* the memory of its tensors, as the processor sees it */
    uint32_t memory_base;     /* the same, as the block sees it; a cluster's is 0 */
};

/* How a call ended. */
enum hwgen_result {
    HWGEN_OK = 0,
    HWGEN_BUSY,           /* the block runs */
    HWGEN_IDLE,           /* the block has neither run nor failed since the last acknowledgement */
    HWGEN_FAILED,         /* the run failed, or a write was refused: see struct hwgen_end */
    HWGEN_TIMEOUT,        /* as many polls as were allowed, and the block still runs */
    HWGEN_NO_BLOCK,       /* the first register is not that of such a block */
    HWGEN_OTHER_HARDWARE, /* such a block, but not the one that these files were generated for */
    HWGEN_OUTSIDE         /* more bytes than the region has */
};

/* How a run ended. */
struct hwgen_end {
    uint32_t status;  /* the register, before it was acknowledged */
    uint32_t error;   /* its error code: see BLOCK_registers.h; 0 after a run without an error */
    uint32_t address; /* of the access that failed */
};

/* Bytes of the memory, from its beginning on. */
struct hwgen_region {
    uint32_t base;
    uint32_t bytes;
};

/* An input or an output of a network: bytes of int8, each of which stands for scale * (byte - zero_point). */
struct hwgen_tensor {
    struct hwgen_region region;
    float scale;
    int32_t zero_point;
};

/* How an input is laid out in memory: of each channel a copy for each tap, taps[0] rows by taps[1] columns; each copy
   has size[0] rows and size[1] columns. The input itself has given[0] channels, given[1] rows, given[2] columns. */
struct hwgen_layout {
    int32_t given[3];
    int32_t size[2];
    int32_t taps[2];
    int32_t stride[2];
    int32_t padding[2];
    int32_t zero_point;
};

#ifndef HWGEN_READ
#define HWGEN_READ(device, offset) (((volatile uint32_t *)(device)->registers)[(offset) / 4u])
#endif
#ifndef HWGEN_WRITE
#define HWGEN_WRITE(device, offset, value) (((volatile uint32_t *)(device)->registers)[(offset) / 4u] = (value))
#endif
#ifndef HWGEN_STORE
#define HWGEN_STORE(device, offset, byte) (((volatile uint8_t *)(device)->memory)[offset] = (byte))
#endif
#ifndef HWGEN_FETCH
#define HWGEN_FETCH(device, offset) (((volatile uint8_t *)(device)->memory)[offset])
#endif
/* Between memory and the start of the block, and between its end and memory: a barrier, and what a cache needs. */
#ifndef HWGEN_BARRIER
#define HWGEN_BARRIER(device) ((void)(device))
#endif

/* Lays an input out: from int8 [channel][row][column] without gaps to what is stored in memory. */
static inline void hwgen_lay_out(const struct hwgen_layout *layout, const int8_t *from, int8_t *to)
{
    const int32_t rows = layout->given[1], columns = layout->given[2];

    for (int32_t channel = 0; channel < layout->given[0]; channel++, from += rows * columns)
        for (int32_t tap = 0; tap < layout->taps[0] * layout->taps[1]; tap++)
            for (int32_t place = 0; place < layout->size[0] * layout->size[1]; place++) {
                const int32_t row =
                    place / layout->size[1] * layout->stride[0] + tap / layout->taps[1] - layout->padding[0];
                const int32_t column =
                    place % layout->size[1] * layout->stride[1] + tap % layout->taps[1] - layout->padding[1];
                const int inside = row >= 0 && row < rows && column >= 0 && column < columns;

                *to++ = (int8_t)(inside ? from[row * columns + column] : layout->zero_point);
            }
}

/* Copies bytes into a region of the memory, such as the content of LAYER.weights.bin. */
static inline enum hwgen_result hwgen_store(
    const struct hwgen_device *device, struct hwgen_region region, const void *bytes, uint32_t count)
{
    if (count > region.bytes)
        return HWGEN_OUTSIDE;
    for (uint32_t i = 0; i < count; i++)
        HWGEN_STORE(device, region.base + i, ((const uint8_t *)bytes)[i]);
    return HWGEN_OK;
}

/* Copies the first bytes of a region out of the memory, such as the output of a layer. */
static inline enum hwgen_result hwgen_fetch(
    const struct hwgen_device *device, struct hwgen_region region, void *bytes, uint32_t count)
{
    if (count > region.bytes)
        return HWGEN_OUTSIDE;
    HWGEN_BARRIER(device);
    for (uint32_t i = 0; i < count; i++)
        ((uint8_t *)bytes)[i] = HWGEN_FETCH(device, region.base + i);
    return HWGEN_OK;
}

#endif
