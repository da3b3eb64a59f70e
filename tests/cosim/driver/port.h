/* Accesses of the drivers, led to functions that the test sets. */
#include <stdint.h>

extern uint32_t (*bus_read)(uint32_t);
extern void (*bus_write)(uint32_t, uint32_t);
extern void (*memory_store)(uint32_t, uint8_t);
extern uint8_t (*memory_fetch)(uint32_t);

#define HWGEN_READ(device, offset) ((void)(device), bus_read(offset))
#define HWGEN_WRITE(device, offset, value) ((void)(device), bus_write(offset, value))
#define HWGEN_STORE(device, offset, byte) ((void)(device), memory_store(offset, byte))
#define HWGEN_FETCH(device, offset) ((void)(device), memory_fetch(offset))
