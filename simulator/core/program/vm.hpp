// The interpreter of kernels' bytecode.
#pragma once

#include <functional>

#include "program/places.hpp"
#include "program/program.hpp"
#include "semantics/expr.hpp"

namespace autocomp {

// What the interpreter hands commands and host accesses to.
class CommandSink {
 public:
  virtual ~CommandSink() = default;
  // Arguments are 64-bit slots, floats as binary64, addresses hidden; the host took `cycles` since the command before.
  // May throw Fault.
  virtual void command(int32_t instruction, const int64_t* arguments, int32_t line, int64_t cycles) = 0;
  // Host access of [offset, offset + bytes) of a tensor.
  virtual void host_access(int64_t tensor, int64_t offset, int64_t bytes, bool write, int32_t line) = 0;
  // What a tensor holds is undefined from here on.
  virtual void undefine(int64_t tensor) = 0;
  // Prints a message with `count` arguments.
  virtual void print(int64_t message, const int64_t* arguments, int64_t count) = 0;
  // What the program reads from the clock.
  virtual int64_t clock() = 0;
};

struct ExecutionEnd {
  int64_t steps = 0;
  int64_t tail_cycles = 0;  // of the host behind the last command
  int64_t exit_code = 0;
  bool failed = false;
  Fault fault;
  int32_t line = 0;
};

struct ExecutionOptions {
  int64_t max_steps;
  bool report_host_accesses;
  bool host_data;  // the program's own code may read and write elements of parameters
  const Places& places;
  const std::function<void()>& poll;
};

// `end` says how far the program came, also where something else than a Fault ends it.
void execute(const Program& program, std::vector<TensorStore>& tensors, const ExecutionOptions& options,
             CommandSink& sink, ExecutionEnd& end);

}  // namespace autocomp
