// The bare simulation: the same design in the same harness as in the cosimulation, but nothing besides: no cocotb, no
// Python, no VPI. It is what the native run loop is measured against.
//
// Arguments: the file to run (see `read_job`), the memory image (32-bit words, little-endian), where to write the
// memory after the run. Prints cycles, seconds of processor time, and status.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "Vtop.h"
#include "Vtop___024root.h"
#include "verilated.h"

namespace {

struct Transfer {
    uint32_t address;
    uint32_t value;
};

struct Job {
    std::vector<Transfer> registers;
    Transfer start{};
    uint32_t status = 0;
};

// Lines "register ADDRESS VALUE", "start ADDRESS VALUE", "status ADDRESS", in decimal.
Job read_job(const char* const file) {
    Job job;
    std::ifstream stream{file};
    std::string key;
    while (stream >> key) {
        Transfer transfer{};
        stream >> transfer.address;
        if (key != "status") stream >> transfer.value;
        if (key == "register") job.registers.push_back(transfer);
        if (key == "start") job.start = transfer;
        if (key == "status") job.status = transfer.address;
    }
    return job;
}

class Bench {
  public:
    Bench() { top_.eval(); }

    uint32_t* memory() { return &root().harness__DOT__memory[0]; }
    uint64_t cycles() { return root().harness__DOT__cycles; }

    void reset() {
        root().harness__DOT__rst = 1;
        root().harness__DOT__clear = 1;
        for (int i = 0; i < 4; ++i) cycle();
        root().harness__DOT__rst = 0;
        root().harness__DOT__clear = 0;
        for (int i = 0; i < 4; ++i) cycle();
    }

    void set_start(const Transfer& start) {
        root().harness__DOT__start_address = start.address;
        root().harness__DOT__start_value = start.value;
        root().harness__DOT__cycle_limit = uint64_t{1} << 40;
    }

    uint32_t transfer(const Transfer& transfer, const bool write) {
        root().harness__DOT__cfg_write = write;
        root().harness__DOT__cfg_address = transfer.address;
        root().harness__DOT__cfg_data = transfer.value;
        root().harness__DOT__cfg_go ^= 1;
        while (root().harness__DOT__cfg_served != root().harness__DOT__cfg_go) cycle();
        return root().harness__DOT__cfg_answer;
    }

    void run() {
        while (!root().harness__DOT__finished) cycle();
    }

  private:
    Vtop___024root& root() { return *top_.rootp; }

    void cycle() {
        root().harness__DOT__clk = 1;
        top_.eval();
        root().harness__DOT__clk = 0;
        top_.eval();
    }

    Vtop top_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const Job job = read_job(argv[1]);
    static Bench bench;
    std::ifstream image{argv[2], std::ios::binary | std::ios::ate};
    const std::streamsize bytes = image.tellg();
    image.seekg(0);
    image.read(reinterpret_cast<char*>(bench.memory()), bytes);
    bench.set_start(job.start);
    bench.reset();
    for (const Transfer& transfer : job.registers) bench.transfer(transfer, true);
    const std::clock_t began = std::clock();
    bench.transfer(job.start, true);
    bench.run();
    const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    const uint64_t cycles = bench.cycles();
    const uint32_t status = bench.transfer({job.status, 0}, false);
    std::ofstream{argv[3], std::ios::binary}.write(reinterpret_cast<const char*>(bench.memory()), bytes);
    std::printf("%lu %.6f %u\n", static_cast<unsigned long>(cycles), seconds, status);
    return 0;
}
