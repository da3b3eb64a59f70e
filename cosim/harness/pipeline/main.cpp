// The native run loop of depth-first pipelines: toggles the clock and evaluates the model until every harness has
// finished. Inputs and results are in files: see harness.sv.

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vtop top{&context};
    top.clk = 0;
    top.eval();
    while (!top.finished && !context.gotFinish()) {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        context.timeInc(1);
    }
    top.final();
    return 0;
}
