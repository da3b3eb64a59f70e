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

// The model's evaluation proper, which Verilator's makefile compiles beside this file. `Vtop::eval` wraps it in what only
// matters between runs (messages to print, objects to delete) and takes a twentieth longer. If another Verilator calls
// it differently, it is null here, and `Vtop::eval` is used.
__attribute__((weak)) void Vtop___024root___eval(Vtop___024root* vlSelf);

#ifdef HWGEN_EDGE
// All that happens at a rising edge of the clock, where `cosim.simulator.rewriting.edge` has found that this is one function. At a falling
// edge nothing happens; the clock itself need not move then.
void HWGEN_EDGE(Vtop___024root* vlSelf);
#endif

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

namespace {

template <typename Cycle>
int64_t run(const Model* const model, const int64_t limit, const Cycle cycle) {
    int64_t cycles = 0;
    while (cycles < limit && !*model->finished) {
        cycle();
        ++cycles;
    }
    model->top->eval();
    return cycles;
}

}  // namespace

// Runs until the harness has finished, or for `limit` cycles; returns the cycles run, or -1 if there is no harness.
// The clock has to be low, and is left low.
extern "C" int64_t harness_run(int64_t limit) {
    const Model* const model = find_model();
    if (!model) return -1;
    Vtop___024root* const root = model->top->rootp;
#ifdef HWGEN_EDGE
    return run(model, limit, [root] { HWGEN_EDGE(root); });
#endif
    const auto toggle = [model](const auto evaluate) {
        *model->clock = 1;
        evaluate();
        *model->clock = 0;
        evaluate();
    };
    if (Vtop___024root___eval) {
        return run(model, limit, [&] { toggle([root] { Vtop___024root___eval(root); }); });
    }
    return run(model, limit, [&] { toggle([model] { model->top->eval(); }); });
}
