// Calls an exported kernel on RISC-V without a library or an operating system's start-up, and writes what the kernel sends
// to the accelerator. QEMU runs it as a user's program: two system calls are all that it needs.
//
// example.h is made by bare_metal.py: TENSORS, the static arrays, and CALL, the call of the kernel.
#include "example.h"

#include <stddef.h>
#include <stdint.h>

enum { WRITE = 64, EXIT = 93, OUTPUT = 1, OWN_ARRAY = 2 };

static long system_call(long number, long first, long second, long third) {
    register long a0 __asm__("a0") = first;
    register long a1 __asm__("a1") = second;
    register long a2 __asm__("a2") = third;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static void send(const void *words, size_t bytes) { (void)system_call(WRITE, OUTPUT, (long)words, (long)bytes); }

// On the accelerator's own core this is the instruction that sends a command.
void COMMAND(uint64_t funct, uint64_t rs1, uint64_t rs2) {
    const uint64_t words[] = {funct, rs1, rs2};
    send(words, sizeof words);
}

void WAIT(void) {}

// A kernel with arrays of its own needs their contents too, which this example does not send.
void autocomp_memory(const void *array, size_t bytes) {
    (void)array;
    (void)bytes;
    (void)system_call(EXIT, OWN_ARRAY, 0, 0);
}

void _start(void) {
    const uint64_t addresses[] = {ADDRESSES};
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop");
    send(addresses, sizeof addresses);
    CALL;
    (void)system_call(EXIT, 0, 0, 0);
}
