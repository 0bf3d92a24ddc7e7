// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a target without libFuzzer: all inputs of a folder, then inputs made of them at random.
//
//   fuzz-TARGET FOLDER [MUTATIONS [SEED]]
//
// The input of a run that fails is left in ./fuzz-TARGET.input; given as FOLDER it is run again.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "bytes.hpp"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> read_all(const fs::path& path) {
  if (!fs::is_directory(path)) return {read(path)};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const fs::path& file : files) inputs.push_back(read(file));
  return inputs;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& inputs, unsigned seed) : inputs_(inputs), random_(seed) {}

  std::string next() {
    std::string input = any();
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(input);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  const std::string& any() { return inputs_[below(inputs_.size())]; }
  std::string part(const std::string& of) {
    const std::size_t at = below(of.size() + 1);
    return of.substr(at, below(std::min<std::size_t>(of.size() - at, 64) + 1));
  }

  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1), length = below(16);
    const auto byte = static_cast<char>(random_());
    switch (below(6)) {
      case 0:
        input.replace(at, length, part(any()));
        break;
      case 1:
        input.insert(at, part(input));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, length, byte);
        break;
      case 4:
        input.replace(at, 1, 1, byte);
        break;
      case 5: {  // the least, the largest and nearly so
        constexpr char edges[] = {'\0', '\x01', '\x7f', '\x80', '\xfe', '\xff'};
        input.replace(at, length, length, edges[below(std::size(edges))]);
      }
    }
  }

  const std::vector<std::string>& inputs_;
  std::mt19937 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::vector<std::string> inputs = read_all(fs::absolute(argv[1]));
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 0;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
  const fs::path kept = fs::absolute(fs::path(argv[0]).filename() += ".input");

  const auto run = [&](const std::string& input) {
    std::ofstream(kept, std::ios::binary) << input;  // in advance: not every failure can be caught
    // Of exactly that size, so that a read past the end is noticed.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const std::string& input : inputs) run(input);
  Mutator mutator(inputs, seed);
  for (int i = 0; i < mutations; ++i) run(mutator.next());
  fs::remove(kept);
  std::printf("%zu inputs and %d mutations of seed %u\n", inputs.size(), mutations, seed);
}
