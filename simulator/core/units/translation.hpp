// Address translation of units that stream: each keeps the page that it has translated last, and asks a shared table
// for another. The table answers one request a cycle, in turns; whom it does not answer goes through its stages again.
#pragma once

#include <vector>

#include "timing/archive.hpp"
#include "timing/command.hpp"

namespace autocomp::timing {

class Translation {
 public:
  explicit Translation(size_t clients) : clients_(clients) {}

  // What is kept is void from the next cycle on.
  void forget(int64_t now);
  // The page at the first stage of a client, in each cycle in which a stage of it is taken. `asks`: it goes on.
  void look(size_t client, int64_t page, bool asks, int64_t now);
  // Whether the request in the second stage has to be repeated.
  [[nodiscard]] bool misses(size_t client, int64_t now);
  // Pages are numbers of the client's; `newest` is the one that others are relative to.
  void archive(Archive& archive, size_t client, int64_t newest);
  void archive(Archive& archive) { archive.value(last_); }

 private:
  struct Client {
    int64_t page = PageNumbers::kOrigin;    // kept; at first one that nothing accesses
    int64_t next = -1, next_from = kNever;  // what takes its place, and when
    int64_t asked = -1, asked_in = -1;      // a page, and the cycle
    int64_t looked_in = -1, answered_in = -1;
    bool hit = false;
  };
  void settle(Client& client, int64_t now);
  void answer(int64_t now);

  std::vector<Client> clients_;
  int64_t answers_in_ = -1;
  int64_t last_ = 0;  // the client that was answered last
};

}  // namespace autocomp::timing
