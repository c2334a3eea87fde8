// The distinct commands of a stream, numbered: commands with the same id mean the same to timing. Of an address in main
// memory that is its alignment.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "semantics/operation.hpp"
#include "timing/command.hpp"
#include "timing/dictionary.hpp"
#include "timing/settings.hpp"

namespace autocomp::timing {

class Vocabulary {
 public:
  Vocabulary(const Settings& settings, std::vector<int64_t> tensor_addresses)
      : settings_(settings), tensor_addresses_(std::move(tensor_addresses)) {}

  // The id of a command, or -1: what it does depends on more than is kept, or there are too many.
  // `lines`: what a cache does for it.
  [[nodiscard]] int32_t id(const OperationList& list, const Operation& operation, const Lines& lines);
  // Decodes a command, a preload with its multiply, into `command`, whatever that was before.
  void decode(const OperationList& list, const Operation& operation, Command& command) const;
  // The pages of its access of main memory, first and last, if it has any.
  [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> pages(const OperationList& list,
                                                                 const Operation& operation) const;
  [[nodiscard]] int64_t address(const AccessInstance& access) const;

 private:
  // Calls put(word) for everything that decode() makes a command of, but for its line.
  template <typename Put>
  void spell(const OperationList& list, const Operation& operation, const Lines& lines, Put& put) const;
  template <typename Put>
  void spell_accesses(const OperationList& list, const Operation& operation, Put& put) const;
  template <typename Put>
  void spell_pages(const AccessInstance& access, Put& put) const;
  void add_access(Command& command, const InstructionTiming& timing, const AccessInstance& access, bool tracks) const;
  void add_demand(Command& command, const AccessInstance& access) const;
  [[nodiscard]] int32_t look_up(const OperationList& list, const Operation& operation, const Lines& lines);

  const Settings& settings_;
  std::vector<int64_t> tensor_addresses_;
  Dictionary ids_;
  std::vector<int32_t> next_;   // by id: the one that came after it last; -1: none has
  int32_t latest_ = -1;         // id
  std::vector<int64_t> words_;  // that distinguish the present command from others
};

}  // namespace autocomp::timing
