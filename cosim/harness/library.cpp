// A harness as a library that Python loads: its variables by name, and a run loop. What `native.cpp` is to the test
// benches that cocotb drives; here there is nothing around the model, and reading or writing a variable costs nothing.

#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_sym_props.h"

namespace {

// Of its own: several libraries that a process loads share the default one, and find each other's variables in it.
VerilatedContext* context = nullptr;
Vtop* top = nullptr;

const VerilatedVar* find(const char* const scope, const char* const name) {
    if (!top) {
        context = new VerilatedContext;
        top = new Vtop{context};
        top->eval();
    }
    const VerilatedScope* const found = context->scopeFind(scope);
    return found ? found->varFind(name) : nullptr;
}

}  // namespace

// Where a public variable lies and how many bytes it has; null if there is none of this name.
extern "C" void* model_variable(const char* const scope, const char* const name, size_t* const bytes) {
    const VerilatedVar* const variable = find(scope, name);
    if (!variable) return nullptr;
    *bytes = variable->totalSize();
    return variable->datap();
}

// Makes the model anew: as it is when power comes, every register at random.
extern "C" void model_power_up(const int32_t seed) {
    if (top) {
        top->final();
        delete top;
        delete context;
    }
    context = new VerilatedContext;
    context->randReset(2);
    context->randSeed(seed);
    top = new Vtop{context};
    top->eval();
}

// Evaluates what depends on variables that were written.
extern "C" void model_settle() { top->eval(); }

// Runs for `limit` cycles, or until `finished` unless that is null; returns the cycles run. The clock is left low.
extern "C" int64_t model_run(uint8_t* const clock, const uint8_t* const finished, const int64_t limit) {
    int64_t cycles = 0;
    while (cycles < limit && !(finished && *finished)) {
        *clock = 1;
        top->eval();
        *clock = 0;
        top->eval();
        ++cycles;
    }
    return cycles;
}
