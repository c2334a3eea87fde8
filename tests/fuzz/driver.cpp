// Stands in for libFuzzer where the compiler has none: replays every file of the given folders, then changes them at
// random for a number of runs or seconds. The input under way is in `crash-input` when the process dies.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
namespace fs = std::filesystem;

// One open file: a new one for each input would be sent to the disk before the next run.
void save(const Bytes& bytes) {
  static const int file = open("crash-input", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  const ssize_t written = pwrite(file, bytes.data(), bytes.size(), 0);
  if (written < 0 || ftruncate(file, written) != 0) std::perror("crash-input");
}

void load(const fs::path& path, std::vector<Bytes>& corpus) {
  if (fs::is_directory(path)) {
    std::vector<fs::path> entries{fs::directory_iterator(path), fs::directory_iterator()};
    std::sort(entries.begin(), entries.end());
    for (const auto& entry : entries) load(entry, corpus);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Bytes changed(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % std::max<size_t>(1, limit)); };
  Bytes bytes = corpus.empty() ? Bytes(64) : corpus[below(corpus.size())];
  if (bytes.empty()) bytes.resize(1);
  for (size_t left = 1 + below(8); left > 0; --left) {
    const auto place = static_cast<std::ptrdiff_t>(below(bytes.size()));
    switch (below(5)) {
      case 0: bytes[static_cast<size_t>(place)] = static_cast<uint8_t>(random()); break;
      case 1: bytes[static_cast<size_t>(place)] ^= static_cast<uint8_t>(1U << below(8)); break;
      case 2: bytes.insert(bytes.begin() + place, 1 + below(4), static_cast<uint8_t>(random())); break;
      case 3:
        if (bytes.size() > 1) bytes.erase(bytes.begin() + place);
        break;
      default: {  // a piece of another input
        const Bytes& other = corpus.empty() ? bytes : corpus[below(corpus.size())];
        const size_t from = below(other.size());
        const Bytes piece(other.begin() + static_cast<std::ptrdiff_t>(from),
                          other.begin() + static_cast<std::ptrdiff_t>(std::min(other.size(), from + below(32))));
        bytes.insert(bytes.begin() + place, piece.begin(), piece.end());
      }
    }
  }
  return bytes;
}

long option(const std::string& text, const char* name, long fallback) {
  return text.rfind(name, 0) == 0 ? std::strtol(text.c_str() + std::strlen(name), nullptr, 10) : fallback;
}

}  // namespace

int main(int count, char** arguments) {
  long runs = 0, seconds = 0, seed = std::random_device()();
  std::vector<Bytes> corpus;
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    runs = option(text, "-runs=", runs);
    seconds = option(text, "-max_total_time=", seconds);
    seed = option(text, "-seed=", seed);
    if (text[0] != '-') load(text, corpus);
  }
  for (const Bytes& bytes : corpus) {
    save(bytes);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  const auto start = std::chrono::steady_clock::now();
  long done = 0;
  while (done < runs || (seconds > 0 && std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds))) {
    const Bytes bytes = changed(corpus, random);
    save(bytes);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++done;
  }
  std::remove("crash-input");
  std::fprintf(stderr, "seed %ld\n", seed);
  std::fprintf(stderr, "stat::number_of_executed_units: %ld\n", static_cast<long>(corpus.size()) + done);
  return 0;
}
