// Calls an exported kernel on RISC-V without a library or an operating system's start-up, and writes what the kernel sends
// to the accelerator. QEMU runs it as a user's program: two system calls are all that it needs.
//
// example.h is made by bare_metal.py: the static tensors with their sizes, and CALL, the call of the kernel. The output begins with
// their addresses. What follows are records: a word that says which, then its words, and the bytes of an array.
#include "example.h"

#include <stddef.h>
#include <stdint.h>

enum { WRITE = 64, EXIT = 93, OUTPUT = 1, TOO_MANY_ARRAYS = 2, ARRAYS = 64 };
enum { COMMANDED = 0, CONTENTS = 1, WAITED = 2 };

static struct {
    const void *array;
    size_t bytes;
} own[ARRAYS];
static size_t own_count;

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
    const uint64_t words[] = {COMMANDED, funct, rs1, rs2};
    send(words, sizeof words);
}

static void send_array(const void *array, size_t bytes) {
    const uint64_t words[] = {CONTENTS, (uint64_t)array, bytes};
    send(words, sizeof words);
    send(array, bytes);
}

// What the host has written since the last wait is in memory now, before the commands since then.
void WAIT(void) {
    const uint64_t words[] = {WAITED};
    for (size_t n = 0; n < own_count; n++) send_array(own[n].array, own[n].bytes);
    send(words, sizeof words);
}

// An array of the kernel's own.
void autocomp_memory(const void *array, size_t bytes) {
    for (size_t n = 0; n < own_count; n++) {
        if (own[n].array == array) return;
    }
    if (own_count == ARRAYS) (void)system_call(EXIT, TOO_MANY_ARRAYS, 0, 0);
    own[own_count].array = array;
    own[own_count++].bytes = bytes;
}

void _start(void) {
    const uint64_t addresses[] = {ADDRESSES};
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop");
    send(addresses, sizeof addresses);
    CALL;
    WAIT();
    (void)system_call(EXIT, 0, 0, 0);
}
