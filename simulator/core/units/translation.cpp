#include "units/translation.hpp"

namespace autocomp::timing {

void Translation::settle(Client& client, int64_t now) {
  if (client.next_from > now) return;
  client.page = client.next;
  client.next_from = kNever;
}

void Translation::forget(int64_t now) {
  answer(now);
  for (Client& client : clients_) {
    client.next = -1;
    client.next_from = now + 1;
  }
}

// The table's answer in this cycle.
void Translation::answer(int64_t now) {
  if (answers_in_ == now) return;
  answers_in_ = now;
  const auto count = static_cast<int64_t>(clients_.size());
  for (Client& client : clients_) settle(client, now);
  for (int64_t turn = 1; turn <= count; ++turn) {
    const int64_t place = (last_ + turn) % count;
    Client& client = clients_[static_cast<size_t>(place)];
    if (client.asked_in != now - 1) continue;
    last_ = place;
    client.answered_in = now;
    client.next = client.asked;
    client.next_from = now + 1;
    return;
  }
}

void Translation::look(size_t client, int64_t page, bool asks, int64_t now) {
  answer(now);
  Client& c = clients_[client];
  c.hit = page == c.page;
  c.looked_in = now;
  if (c.hit || !asks) return;
  c.asked = page;
  c.asked_in = now;
}

bool Translation::misses(size_t client, int64_t now) {
  answer(now);
  const Client& c = clients_[client];
  return c.answered_in != now && !(c.hit && c.looked_in == now - 1);
}

void Translation::archive(Archive& archive, size_t client, int64_t newest) {
  const int64_t now = archive.now();
  Client& c = clients_[client];
  const auto page = [&](int64_t& number) {
    int64_t shown = number < 0 ? -1 : newest - number;
    archive.value(shown);
    number = shown < 0 ? -1 : newest - shown;
  };
  if (archive.saves()) settle(c, now);
  bool asks = c.asked_in == now - 1, looked = c.looked_in == now - 1;
  c.hit = c.hit && looked;
  archive.values(asks, looked, c.hit);
  page(c.page);
  if (asks) page(c.asked);
  if (archive.saves()) return;
  c.asked_in = asks ? now - 1 : -1;
  c.looked_in = looked ? now - 1 : -1;
  c.answered_in = -1;
  c.next_from = kNever;
  answers_in_ = -1;
}

}  // namespace autocomp::timing
