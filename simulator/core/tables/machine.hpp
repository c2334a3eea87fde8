// The machine as tables: what the ISA language lowers to. Nothing here names an accelerator.
//
// A machine is built once through the builder methods (each checks every index it is given), then frozen and
// shared by any number of simulations at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autocomp {

[[nodiscard]] inline size_t at(int64_t index) { return static_cast<size_t>(index); }

// Element types of memories and tensors. Those of fewer bits than a byte fill one byte each, with their value.
enum class DType : uint8_t { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, F16, BF16, E5M2, E4M3, I4, U4 };
constexpr DType kLastDType = DType::U4;
[[nodiscard]] int size_of(DType dtype);
[[nodiscard]] bool is_float(DType dtype);
[[nodiscard]] bool is_narrow_integer(DType dtype);  // of fewer bits than a byte

// An expression node evaluates to a 64-bit integer (Int) or to an IEEE binary32 (Float).
enum class ValueType : uint8_t { Int, Float };

// Operand roles of a node's a, b, c are given behind each operator; `imm` and `fimm` are immediates.
enum class ExprOp : uint8_t {
  ConstInt,    // imm
  ConstFloat,  // fimm (a binary32 value)
  Argument,    // imm = index of the instruction's parameter
  State,       // imm = first slot of the field; a = element index node, or -1 for element 0
  Loop,        // imm = depth of the loop variable, 0 = outermost loop of the statement; Sum's variable counts on
  // Int x Int -> Int (64-bit two's complement, wrapping)
  Add,
  Sub,
  Mul,
  Div,      // truncating, as in C; a zero divisor is a program error
  Mod,      // sign of the dividend, as in C; a zero divisor is a program error
  CeilDiv,  // ceil(a / b), b > 0
  Min,
  Max,
  And,
  Or,
  Xor,
  Shl,
  Shr,  // Shr is arithmetic; shift counts are taken mod 64
  // comparisons: Int x Int or Float x Float -> Int 0/1
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  LogicalAnd,
  LogicalOr,  // short circuit
  Neg,
  Not,
  LogicalNot,  // a (Neg: Int or Float; Not is bitwise)
  Select,      // a ? b : c; evaluates only the chosen side; b and c have one type
  // Float x Float -> Float, each rounded once to binary32
  FAdd,
  FSub,
  FMul,
  FDiv,
  FMin,
  FMax,
  Fma,  // a * b + c with one rounding
  // conversions and numeric helpers
  ToFloat,        // Int a -> nearest binary32, ties to even
  RoundToInt,     // Float a -> Int, ties to even; NaN -> INT64_MAX; saturates at the ends of int64
  BitsToFloat,    // Int a: the low 32 bits as a binary32
  FloatToBits,    // Float a -> Int, its 32 bits
  Saturate,       // Int a clamped to the range of a signed integer of imm bits
  SaturateU,      // the same for unsigned
  Wrap,           // Int a truncated to imm bits and sign-extended
  WrapU,          // truncated to imm bits, zero-extended
  RoundingShift,  // Int a / 2^b rounded to nearest, ties to even; b in 0..63
  Read,           // element of a local memory or register: imm = memory, a = row, b = column
  ReadDram,       // element of a tensor: a = pointer node, b = byte offset node, imm = DType
  Extent,         // Int a, a pointer -> bytes from there to the end of its tensor; without tensors, without bound
  Sum,            // sum of b over the next loop variable in 0..a-1; Int or Float (in order, starting from +0)
  Largest,        // largest of b over the next loop variable in 0..a-1; if there is none, the least 64-bit integer, or
                  // minus infinity
  SquareRoot,     // Int a: the largest integer whose square is at most a; 0 for negative a
  FmaChain,       // Float: acc = c; for v in 0..a-1: acc = fma(x, y, acc), where b is an FMul node (x, y)
  Position,  // in awaits of a stream: imm = stream << 8 | depth, the value of its loop variable for its next command
  Done,      // in awaits of a stream: imm = stream, 1 if it has no command left
  Special,   // Float a -> Float: imm = SpecialFunction, computed in binary64 and rounded once
  RoundTo,   // Float a rounded to the float type imm = DType, ties to even
};

enum class SpecialFunction : uint8_t { Exp, Log, Tanh, Erf, Gelu, Sigmoid, SquareRoot, ReciprocalRoot };
constexpr SpecialFunction kLastSpecial = SpecialFunction::ReciprocalRoot;

struct Expr {
  ExprOp op = ExprOp::ConstInt;
  ValueType type = ValueType::Int;
  int32_t a = -1, b = -1, c = -1;
  int64_t imm = 0;
  float fimm = 0.0F;
};

enum class MemoryKind : uint8_t {
  Dram,      // tensors, byte addressed through pointers. Accesses name the first; of others see Instruction::homes
  Local,     // rows of elements, visible to programs, tracked by the memory discipline
  Register,  // rows of elements inside a unit (weights in an array …): no ports, no discipline
};

struct Memory {
  std::string name;
  MemoryKind kind = MemoryKind::Local;
  int64_t rows = 0;  // Dram: 0
  int64_t cols = 0;  // elements in a row; Dram: 0
  DType dtype = DType::I8;
  int64_t banks = 1;   // equal, contiguous ranges of rows
  int32_t shown = -1;  // a view: the earlier memory whose rows it shows as elements of another type
};

enum class StatementKind : uint8_t { Require, Store, StoreDram, SetState, Loop, When, Emit };

// A statement reads all that it needs before it writes anything (array semantics): a Loop nest evaluates every
// value of the nest's stores, then performs the stores in loop order. Sequences of statements run in order, and so do
// the iterations of an ordered Loop, which stands in no other kind of Loop.
struct Statement {
  StatementKind kind = StatementKind::Require;
  int32_t memory = -1;             // Store: target memory
  int32_t a = -1, b = -1, c = -1;  // Require: a condition. Store: a row, b column, c value. StoreDram: a pointer,
                                   // b byte offset, c value. SetState: a element index or -1, c value.
                                   // Loop: a count (negative = 0), in streams b step. When: a condition
  int64_t imm = 0;                 // SetState: first slot of the field. StoreDram: DType. Emit: instruction.
                                   // Loop: 1 if it is ordered
  std::string message;             // Require
  std::vector<int32_t> body;       // Loop, When: statements
  std::vector<int32_t> otherwise;  // When
  std::vector<int32_t> arguments;  // Emit: expressions, one per parameter of the instruction
  std::vector<int32_t> awaits;     // Emit: conditions, all of which must hold when the command leaves
};

// One memory access of an instruction, derived from its semantics: the rows base + sum(i_d * stride_d),
// 0 <= i_d < count_d. Dims are ordered outermost loop first. For DRAM base, strides and extents are bytes.
struct Access {
  struct Dim {
    int32_t count = -1;   // expression
    int32_t stride = -1;  // expression; 0 at run time means that the dimension collapses
  };
  int32_t memory = -1;
  bool write = false;
  int32_t guard = -1;    // expression, or -1 for always: the access happens only if it is non-zero
  int32_t pointer = -1;  // DRAM: expression of the pointer; local: -1
  int32_t base = -1;     // expression: first row, or byte offset behind the pointer
  std::vector<Dim> dims;
  int32_t first_col = -1, cols = -1;  // local: expressions, columns touched in each row; DRAM: -1
  int32_t bytes = -1;                 // DRAM: expression, contiguous bytes at each point of dims
  int32_t parameter = -1;             // the instruction parameter that gives the address, or -1
  bool accumulate_read = false;       // this read is the old value of the location the same statement writes
  // Where memory contents decide what is touched: the row, or byte offset, in loops of so many iterations. With data
  // these points are the access, without data the rows above, which enclose them.
  int32_t point = -1;
  std::vector<int32_t> loops;
  int64_t point_bytes = 0;  // DRAM: of each point
  bool tracked = false;     // no access, but rows by which the machine tracks hazards, in place of those accessed
};

struct Property {  // a timing property: its key and the expression that gives its value for one command
  std::string key;
  int32_t value = -1;
};

// Commands that an instruction expands to: Loop, When and Emit statements. Of the streams of an instruction with a
// command that may leave, the one with the lowest priority number goes first; a stream starts when all of `after` have.
struct CommandStream {
  std::string name;
  int64_t priority = 0;
  std::vector<int32_t> after;  // indices of streams of the instruction
  std::vector<int32_t> body;
};
constexpr int kMaxStreams = 16;

struct Instruction {
  std::string name;
  int32_t unit = -1;  // index into units, or -1: executed by the front end, as a fence is
  std::vector<std::string> parameters;
  std::vector<ValueType> parameter_types;
  std::vector<int32_t> pointers;                           // parameters that are addresses of tensors
  std::vector<std::pair<int32_t, int32_t>> homes;          // pointers to another Dram memory than the first, and it
  std::vector<int32_t> body;                               // statements
  std::vector<Access> accesses;                            // evaluated with the state before the instruction
  std::vector<Property> properties;                        // likewise
  std::vector<std::pair<std::string, std::string>> words;  // timing properties that are words, e.g. role: preload
  std::vector<CommandStream> streams;                      // evaluated with the state before the instruction
};

struct Unit {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> settings;     // integer settings, e.g. entries, queue
  std::vector<std::pair<std::string, std::string>> choices;  // word settings, e.g. issue: in_order
};

struct Machine {
  std::vector<Expr> exprs;
  std::vector<Memory> memories;
  std::vector<Statement> statements;
  std::vector<Instruction> instructions;
  std::vector<Unit> units;
  std::vector<double> state_initial;     // one per state slot
  std::vector<ValueType> state_types;    // likewise
  std::vector<std::string> state_names;  // likewise, for messages: "ld[1].stride"
  // "section.key" -> integer, for everything timing-related that belongs to no unit: memories' ports, host, front
  std::vector<std::pair<std::string, int64_t>> settings;
  std::vector<std::pair<std::string, std::string>> choices;

  // Throws std::invalid_argument naming the first index, type or shape that is wrong.
  void validate() const;
};

// A DRAM pointer in an argument or register: the number of a tensor, which is its index + 1, times 2^48, plus a signed
// byte offset of less than 2^47. 0 is the null pointer.
constexpr int kPointerShift = 48;
[[nodiscard]] constexpr int64_t make_pointer(int64_t tensor, int64_t offset) {
  return static_cast<int64_t>((static_cast<uint64_t>(tensor + 1) << kPointerShift) + static_cast<uint64_t>(offset));
}
[[nodiscard]] constexpr uint64_t tensor_number(int64_t pointer) {
  return (static_cast<uint64_t>(pointer) + (uint64_t{1} << (kPointerShift - 1))) >> kPointerShift;
}

}  // namespace autocomp
