// The native run loop, linked into the simulator that cocotb runs in; the test bench reaches it through ctypes.
//
// cocotb configures and checks. For the long run in between it calls `harness_run`, which toggles the clock and
// evaluates the model until the harness has finished. Simulated time stands still for cocotb meanwhile, and neither
// callbacks nor waveforms happen.

#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "Vtop__Syms.h"
#include "verilated.h"
#include "verilated_sym_props.h"

namespace {

struct Model {
    Vtop* top = nullptr;
    uint8_t* clock = nullptr;
    const uint8_t* finished = nullptr;
    uint32_t* memory = nullptr;
    size_t words = 0;
};

// The model's public variables, looked up once: null if one is missing.
const Model* find_model() {
    static Model model;
    if (model.top) return &model;
    const VerilatedScope* const scope = Verilated::threadContextp()->scopeFind("harness");
    if (!scope) return nullptr;
    const VerilatedVar* const clock = scope->varFind("clk");
    const VerilatedVar* const finished = scope->varFind("finished");
    const VerilatedVar* const memory = scope->varFind("memory");
    if (!clock || !finished || !memory) return nullptr;
    model.clock = static_cast<uint8_t*>(clock->datap());
    model.finished = static_cast<const uint8_t*>(finished->datap());
    model.memory = static_cast<uint32_t*>(memory->datap());
    model.words = memory->totalSize() / sizeof(uint32_t);
    model.top = static_cast<Vtop__Syms*>(scope->symsp())->__Vm_modelp;
    return &model;
}

}  // namespace

// The memory of the harness as an array of words; null if there is none.
extern "C" uint32_t* harness_memory(size_t* words) {
    const Model* const model = find_model();
    *words = model ? model->words : 0;
    return model ? model->memory : nullptr;
}

// Runs until the harness has finished, or for `limit` cycles; returns the cycles run, or -1 if there is no harness.
// The clock has to be low, and is left low.
extern "C" int64_t harness_run(int64_t limit) {
    const Model* const model = find_model();
    if (!model) return -1;
    int64_t cycles = 0;
    while (cycles < limit && !*model->finished) {
        *model->clock = 1;
        model->top->eval();
        *model->clock = 0;
        model->top->eval();
        ++cycles;
    }
    return cycles;
}
