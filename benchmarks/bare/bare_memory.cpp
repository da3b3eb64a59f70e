// The barest simulation there can be: the design alone, its memory an array in C++; nothing is counted or checked.
//
// Arguments and output as in `bare_harness.cpp`. Verilator spells the two underscores in a port's name ___05F.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

std::vector<uint32_t> memory;

// One port of the memory: what it answers after the next clock edge.
struct Response {
    bool valid = false;
    uint32_t data = 0;
};

Response serve(const bool request, const uint32_t address, const bool read, const uint8_t enable,
               const uint32_t data) {
    if (!request) return {};
    uint32_t& word = memory[address / 4];
    if (read) return {true, word};
    uint32_t mask = 0;
    for (int byte = 0; byte < 4; ++byte) {
        if (enable >> byte & 1) mask |= 0xffu << 8 * byte;
    }
    word = (word & ~mask) | (data & mask);
    return {true, 0};
}

class Bench {
  public:
    Bench() {
        top_.tcdm_i___05Fgnt = top_.tcdm_w___05Fgnt = top_.tcdm_o___05Fgnt = 1;
        top_.rst = 1;
        for (int i = 0; i < 4; ++i) cycle();
        top_.rst = 0;
    }

    uint32_t transfer(const uint32_t address, const uint32_t value, const bool write) {
        top_.cfg___05Freq = 1;
        top_.cfg___05Fadd = address;
        top_.cfg___05Fwen = !write;
        top_.cfg___05Fbe = 15;
        top_.cfg___05Fwdata = value;
        top_.eval();
        while (!top_.cfg___05Fgnt) cycle();
        cycle();
        top_.cfg___05Freq = 0;
        while (!top_.cfg___05Fr_valid) cycle();
        return top_.cfg___05Fr_rdata;
    }

    uint64_t run() {
        uint64_t cycles = 0;
        for (; !top_.irq; ++cycles) cycle();
        return cycles;
    }

  private:
    void cycle() {
        const Response i = serve(top_.tcdm_i___05Freq, top_.tcdm_i___05Fadd, true, 0, 0);
        const Response w = serve(top_.tcdm_w___05Freq, top_.tcdm_w___05Fadd, true, 0, 0);
        const Response o = serve(top_.tcdm_o___05Freq, top_.tcdm_o___05Fadd, top_.tcdm_o___05Fwen, top_.tcdm_o___05Fbe,
                                 top_.tcdm_o___05Fwdata);
        top_.clk = 1;
        top_.eval();
        top_.tcdm_i___05Fr_valid = i.valid;
        top_.tcdm_i___05Fr_rdata = i.data;
        top_.tcdm_w___05Fr_valid = w.valid;
        top_.tcdm_w___05Fr_rdata = w.data;
        top_.tcdm_o___05Fr_valid = o.valid;
        top_.tcdm_o___05Fr_rdata = o.data;
        top_.clk = 0;
        top_.eval();
    }

    Vtop top_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    std::ifstream image{argv[2], std::ios::binary | std::ios::ate};
    const std::streamsize bytes = image.tellg();
    image.seekg(0);
    memory.resize(bytes / 4);
    image.read(reinterpret_cast<char*>(memory.data()), bytes);
    static Bench bench;
    std::ifstream job{argv[1]};
    std::string key;
    uint32_t address = 0, value = 0, start = 0, start_value = 0, status = 0;
    while (job >> key >> address) {
        if (key != "status") job >> value;
        if (key == "register") bench.transfer(address, value, true);
        if (key == "start") start = address, start_value = value;
        if (key == "status") status = address;
    }
    const std::clock_t began = std::clock();
    bench.transfer(start, start_value, true);
    const uint64_t cycles = bench.run();
    const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    const uint32_t answer = bench.transfer(status, 0, false);
    std::ofstream{argv[3], std::ios::binary}.write(reinterpret_cast<const char*>(memory.data()), bytes);
    std::printf("%lu %.6f %u\n", static_cast<unsigned long>(cycles), seconds, answer);
    return 0;
}
