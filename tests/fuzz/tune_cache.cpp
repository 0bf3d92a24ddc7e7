// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file of kernel=tune with any contents: read, used as names of kernels, added to, read again.
#include "match/tune_cache.hpp"

#include <filesystem>
#include <fstream>

#include <xcorr/device.hpp>

#include "folder.hpp"
#include "match/plan.hpp"
#include "select/select.hpp"

using namespace xcorr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path file = temporary("tuned-kernels.txt");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const TuneAnswers before = read_answers(file);
  static const Device device = open_device(Backend::cpu).value();
  for (const auto& [problem, answer] : before) {
    MatchProblem asked =
        problem_of_group(ElementType::u8, {64, 48}, GroupKey(Size{16, 12}), 1, MatchSettings());
    const auto selected = select_matching(asked, device, answer.kernel);
    require(!selected.ok() || !answer.kernel.empty(), "a kernel has a name");
  }

  require(!add_answers(file, {{"a problem", {"fft", "a note"}}}), "an answer is added");
  TuneAnswers after = read_answers(file);
  require(after["a problem"].kernel == "fft" && after["a problem"].note == "a note",
          "what was added is there");
  const TuneAnswers again = [&] {
    require(!add_answers(file, {}), "the file is written again");
    return read_answers(file);
  }();
  require(again.size() == after.size() && after.size() <= before.size() + 1,
          "writing keeps the answers");
  for (const auto& [problem, answer] : again) {
    const bool same = answer.kernel == after[problem].kernel && answer.note == after[problem].note;
    require(same, "an answer stays as it is");
    if (problem != "a problem")
      require(before.contains(problem), "there are no answers but those of the file");
  }
  return 0;
}
