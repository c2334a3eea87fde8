// The kernel's bytecode: a register machine with C's integer semantics made explicit by the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tables/machine.hpp"

namespace autocomp {

// Registers are 64-bit slots relative to the current frame; integers and pointers are int64, floats are binary64
// (binary32 values are kept rounded by ToF32). r[x] below is the slot x of the frame.
enum class Code : uint16_t {
  Halt,       // end of the kernel
  LoadInt,    // r[a] = imm, which is an address if b is not 0
  LoadFloat,  // r[a] = the binary64 whose bits are imm
  Move,       // r[a] = r[b]
  Add,
  Sub,
  Mul,  // r[a] = r[b] op r[c], 64-bit wrapping
  Div,
  Mod,  // signed, truncating; zero divisor is a program error
  DivU,
  ModU,  // unsigned 64-bit
  And,
  Or,
  Xor,
  Shl,
  Shr,
  ShrU,  // count r[c] mod 64
  Neg,
  BitNot,
  LogicalNot,  // r[a] = op r[b]
  Eq,
  Ne,
  Lt,
  Le,  // signed; r[a] = 0/1
  LtU,
  LeU,
  FAdd,
  FSub,
  FMul,
  FDiv,
  FNeg,  // binary64
  FEq,
  FNe,
  FLt,
  FLe,
  Extend,  // r[a] = r[b] truncated to DType imm and sign- or zero-extended
  ToBool,  // r[a] = r[b] != 0
  IntToFloat,
  UIntToFloat,  // r[a] = (double) r[b]
  FloatToInt,   // truncates towards zero; saturates; NaN -> 0
  ToF32,        // r[a] = (double)(float) r[b]
  Jump,         // pc = imm
  JumpIfZero,
  JumpIfNotZero,  // r[a]; pc = imm
  Load,           // r[a] = element of DType c at pointer r[b] + imm bytes
  Store,          // element of DType c at pointer r[b] + imm bytes = r[a]
  Call,           // new frame at r + a; pc = imm; arguments are already in its first slots
  Return,         // back to the caller's frame; a result stays in the callee's slot 0
  Issue,          // issue accelerator instruction imm with arguments r[a] … (one per parameter, Int or binary64)
  HostCall,       // builtin imm (0 add_matrix, 1 negate_matrix) with arguments r[a] …
  Assigned,       // program error with message imm if r[a] is 0: a variable has no value yet
  Undefine,       // what tensor imm holds is undefined from here on
  Service,        // imm as in Service below, with b arguments r[a] …; its result is in r[a]
  Count
};

// What a whole program, unlike a kernel, may ask of the host's system.
enum class Service : int64_t {
  Print,  // message r[a] as printf prints it, with the other arguments, and strings as numbers of messages; gives 0
  Exit,   // end of the program with exit code r[a]
  Clock,  // the cycles that the options say for this reading
  Count
};

struct Bytecode {
  Code code = Code::Halt;
  uint16_t a = 0, b = 0, c = 0;
  int64_t imm = 0;
};

// What a bytecode takes of the host: cycles, and cycles more where it jumps, or for each element of a HostCall.
struct HostCycles {
  int32_t cycles = 0, more = 0;
};

// A tensor the program can reach: parameters first, in order, then local and static arrays.
struct Tensor {
  std::string name;
  DType dtype = DType::I8;
  std::vector<int64_t> shape;
  std::vector<uint8_t> initial;  // arrays of the kernel: initial bytes or empty for zeros; parameters: empty
  bool parameter = false;
};

struct Program {
  std::vector<Bytecode> code;
  std::vector<int32_t> lines;    // source line of each bytecode; 0: that of the call into this code
  std::vector<HostCycles> host;  // of each bytecode; empty: the host's code takes no time
  std::vector<Tensor> tensors;
  std::vector<std::string> messages;  // of program errors
  int32_t frame_size = 0;             // slots of the entry frame
  int32_t stack_size = 0;             // slots over the deepest chain of calls, at most 1 << 20

  // Throws std::invalid_argument naming the first instruction that is wrong: jumps, registers, tensors,
  // accelerator instructions and their argument counts are all in range for this machine.
  void validate(const Machine& machine) const;
};

}  // namespace autocomp
