#include "program/vm.hpp"

#include <bit>

#include "program/host_calls.hpp"

namespace autocomp {
namespace {

constexpr int64_t kStepsPerPoll = int64_t{1} << 16;
constexpr int64_t kFrameReach = 65536 + 64;  // highest register a bytecode can name, plus arguments

double real(int64_t bits) { return std::bit_cast<double>(bits); }
int64_t bits(double x) { return std::bit_cast<int64_t>(x); }

int64_t extend(int64_t x, DType dtype) {
  switch (dtype) {
    case DType::I8: return static_cast<int8_t>(x);
    case DType::U8: return static_cast<uint8_t>(x);
    case DType::I16: return static_cast<int16_t>(x);
    case DType::U16: return static_cast<uint16_t>(x);
    case DType::I32: return static_cast<int32_t>(x);
    case DType::U32: return static_cast<uint32_t>(x);
    default: return x;
  }
}

int64_t truncate(double x) {
  if (std::isnan(x)) return 0;
  if (x >= 9223372036854775808.0) return scalar::kMax;
  if (x <= -9223372036854775808.0) return scalar::kMin;
  return static_cast<int64_t>(x);
}

// Registers hold binary64, the accelerator's memories binary32: tensors of f64 must keep their precision here.
int64_t load_register(const uint8_t* at, DType dtype) {
  if (dtype == DType::F64) {
    int64_t raw = 0;
    std::memcpy(&raw, at, sizeof(raw));
    return raw;
  }
  const Value value = load_element(at, dtype);
  return is_float(dtype) ? bits(static_cast<double>(value.f)) : value.i;
}

void store_register(uint8_t* at, DType dtype, int64_t value) {
  if (dtype == DType::F64)
    std::memcpy(at, &value, sizeof(value));
  else if (dtype == DType::F32)
    store_element(at, dtype, float_value(static_cast<float>(real(value))));
  else
    store_element(at, dtype, is_float(dtype) ? float_value(scalar::round_to_odd(real(value))) : int_value(value));
}

// The code with addresses as the program is to see them.
std::vector<Bytecode> placed(std::vector<Bytecode> code, const Places& places) {
  for (Bytecode& b : code)
    if (b.code == Code::LoadInt && b.b != 0) b.imm = places.hidden(b.imm);
  return code;
}

struct Interpreter {
  const Program& program;
  std::vector<TensorStore>& tensors;
  CommandSink& sink;
  const ExecutionOptions& options;
  std::vector<Bytecode> code;
  std::vector<int64_t> stack;
  std::vector<std::pair<int64_t, int64_t*>> calls;
  int64_t pc = 0;
  int64_t steps = 0;
  int64_t cycles = 0;  // of the host since the last command
  int64_t exit_code = 0;

  // The source line; that of the innermost call with a line where the code itself has none.
  int32_t line() const {
    int32_t line = program.lines[static_cast<size_t>(pc)];
    for (auto call = calls.rbegin(); line == 0 && call != calls.rend(); ++call)
      line = program.lines[static_cast<size_t>(call->first)];
    return line;
  }

  int64_t* enter(int64_t* r, const Bytecode& b) {
    if (r - stack.data() + b.a > program.stack_size || calls.size() > static_cast<size_t>(program.stack_size))
      throw Fault{"stack",
                  "calls nest too deeply: the stack of " + std::to_string(program.stack_size) + " slots is full"};
    calls.emplace_back(pc, r);
    return r + b.a;
  }

  void access(const Bytecode& b, int64_t* r) {
    const auto dtype = static_cast<DType>(b.c);
    const bool write = b.code == Code::Store;
    const int64_t address = options.places.shown(r[b.b]);
    uint8_t* at = resolve(tensors, address, b.imm, size_of(dtype), write ? "a write" : "a read");
    if (!options.host_data) refuse_data(tensors, address, b.imm, write);
    if (write)
      store_register(at, dtype, r[b.a]);
    else
      r[b.a] = load_register(at, dtype);
    if (options.report_host_accesses) {
      const Pointer pointer = split_pointer(address);
      sink.host_access(pointer.tensor, pointer.offset + b.imm, size_of(dtype), write, line());
    }
  }

  // The step behind which to pause next.
  int64_t after_pause() const {
    if (steps > options.max_steps)
      throw Fault{"steps", "the kernel did not end within " + std::to_string(options.max_steps) + " steps"};
    if (options.poll) options.poll();
    return std::min(options.max_steps, steps + kStepsPerPoll);
  }

  template <bool kHost>
  void run() {
    int64_t pause = 0;
    int64_t* r = stack.data();
    const HostCycles* host = program.host.data();
    const auto jump = [&](int64_t target) {
      if constexpr (kHost) cycles += host[pc].more;
      pc = target - 1;
    };
    for (;; ++pc) {
      const Bytecode& b = code[static_cast<size_t>(pc)];
      if (++steps > pause) pause = after_pause();
      if constexpr (kHost) cycles += host[pc].cycles;
      const int64_t x = r[b.b];
      const int64_t y = r[b.c];
      int64_t& out = r[b.a];
      switch (b.code) {
        case Code::Halt: return;
        case Code::LoadInt:
        case Code::LoadFloat: out = b.imm; break;
        case Code::Move: out = x; break;
        case Code::Add: out = scalar::add(x, y); break;
        case Code::Sub: out = scalar::sub(x, y); break;
        case Code::Mul: out = scalar::mul(x, y); break;
        case Code::Div: out = scalar::div(x, divisor(y)); break;
        case Code::Mod: out = scalar::mod(x, divisor(y)); break;
        case Code::DivU: out = scalar::s(scalar::u(x) / scalar::u(divisor(y))); break;
        case Code::ModU: out = scalar::s(scalar::u(x) % scalar::u(divisor(y))); break;
        case Code::And: out = x & y; break;
        case Code::Or: out = x | y; break;
        case Code::Xor: out = x ^ y; break;
        case Code::Shl: out = scalar::shl(x, y); break;
        case Code::Shr: out = scalar::shr(x, y); break;
        case Code::ShrU: out = scalar::s(scalar::u(x) >> (scalar::u(y) & 63)); break;
        case Code::Neg: out = scalar::neg(x); break;
        case Code::BitNot: out = ~x; break;
        case Code::LogicalNot: out = x == 0; break;
        case Code::Eq: out = x == y; break;
        case Code::Ne: out = x != y; break;
        case Code::Lt: out = x < y; break;
        case Code::Le: out = x <= y; break;
        case Code::LtU: out = scalar::u(x) < scalar::u(y); break;
        case Code::LeU: out = scalar::u(x) <= scalar::u(y); break;
        case Code::FAdd: out = bits(real(x) + real(y)); break;
        case Code::FSub: out = bits(real(x) - real(y)); break;
        case Code::FMul: out = bits(real(x) * real(y)); break;
        case Code::FDiv: out = bits(real(x) / real(y)); break;
        case Code::FNeg: out = bits(-real(x)); break;
        case Code::FEq: out = real(x) == real(y); break;
        case Code::FNe: out = real(x) != real(y); break;
        case Code::FLt: out = real(x) < real(y); break;
        case Code::FLe: out = real(x) <= real(y); break;
        case Code::Extend: out = extend(x, static_cast<DType>(b.imm)); break;
        case Code::ToBool: out = x != 0; break;
        case Code::IntToFloat: out = bits(static_cast<double>(x)); break;
        case Code::UIntToFloat: out = bits(static_cast<double>(scalar::u(x))); break;
        case Code::FloatToInt: out = truncate(real(x)); break;
        case Code::ToF32: out = bits(static_cast<double>(static_cast<float>(real(x)))); break;
        case Code::Jump: jump(b.imm); break;
        case Code::JumpIfZero:
          if (out == 0) jump(b.imm);
          break;
        case Code::JumpIfNotZero:
          if (out != 0) jump(b.imm);
          break;
        case Code::Load:
        case Code::Store: access(b, r); break;
        case Code::Call:
          r = enter(r, b);
          pc = b.imm - 1;
          break;
        case Code::Return:
          if (calls.empty()) return;
          pc = calls.back().first;
          r = calls.back().second;
          calls.pop_back();
          break;
        case Code::Issue:
          sink.command(static_cast<int32_t>(b.imm), r + b.a, line(), cycles);
          cycles = 0;
          break;
        case Code::HostCall: {
          const int64_t elements = host_call(b.imm, r + b.a, tensors, options, sink, line());
          steps += elements;
          if constexpr (kHost) cycles += elements * host[pc].more;
          break;
        }
        case Code::Assigned:
          if (out == 0) throw Fault{"undefined", program.messages[static_cast<size_t>(b.imm)]};
          break;
        case Code::Undefine: sink.undefine(b.imm); break;
        case Code::Service:
          if (b.imm == static_cast<int64_t>(Service::Exit)) {
            exit_code = out;
            return;
          }
          out = serve(static_cast<Service>(b.imm), r + b.a, b.b);
          break;
        case Code::Count: return;
      }
    }
  }

  int64_t serve(Service service, const int64_t* arguments, int64_t count) {
    if (service == Service::Clock) return sink.clock();
    if (arguments[0] < 0 || arguments[0] >= static_cast<int64_t>(program.messages.size()))
      throw Fault{"requirement", "message " + std::to_string(arguments[0]) + " does not exist"};
    sink.print(arguments[0], arguments + 1, count - 1);
    return 0;
  }

  static int64_t divisor(int64_t y) {
    if (y == 0) throw Fault{"division", "division by zero"};
    return y;
  }
};

}  // namespace

void execute(const Program& program, std::vector<TensorStore>& tensors, const ExecutionOptions& options,
             CommandSink& sink, ExecutionEnd& end) {
  Interpreter interpreter{program,
                          tensors,
                          sink,
                          options,
                          placed(program.code, options.places),
                          std::vector<int64_t>(static_cast<size_t>(program.stack_size + kFrameReach)),
                          {}};
  try {
    if (program.host.empty())
      interpreter.run<false>();
    else
      interpreter.run<true>();
  } catch (const Fault& fault) {
    end.failed = true;
    end.fault = fault;
    end.line = interpreter.line();
  } catch (...) {
    end.line = interpreter.line();
    end.steps = interpreter.steps;
    throw;
  }
  end.steps = interpreter.steps;
  end.tail_cycles = interpreter.cycles;
  end.exit_code = interpreter.exit_code;
}

}  // namespace autocomp
