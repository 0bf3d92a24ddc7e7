// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file of kernel=tune: its location, what is read from a damaged one, concurrent writes.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tune_support.hpp"

namespace api {
namespace {

TEST_F(CacheTest, PathGoesByTheEnvironment) {
  EXPECT_EQ(tune_file(), file);
  const Environment home("HOME", "/home/someone");
  for (const auto& nothing : {std::optional<std::string>(), std::optional<std::string>(""),
                              std::optional<std::string>("relative")}) {
    const Environment xdg("XDG_CACHE_HOME", nothing);
    EXPECT_EQ(tune_file(), "/home/someone/.cache/cudaxcorr/tuned-kernels.txt");
  }
  const Environment neither("XDG_CACHE_HOME", std::nullopt), homeless("HOME", std::nullopt);
  EXPECT_EQ(tune_file(), "");
}

TEST_F(CacheTest, BrokenLinesAreIgnored) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      << "\n# heading\tof\tthree\nno tabs\none\ttab\n\tno\tproblem\nno kernel\t\tnote\n"
      << std::string("\0\xff\x80 binary", 10) << "\n"
      << std::string(100000, 'x') << "\ngood\tfft\ta note\twith a tab\nlast without its end";
  TuneAnswers answers = read_answers(file);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers["good"].kernel, "fft");
  ASSERT_FALSE(add_answers(file, {{"better", {"direct", "0.1 ms"}}}));
  EXPECT_EQ(lines_of(file),
            (std::vector<std::string>{"good\tfft\ta note\twith a tab", "better\tdirect\t0.1 ms"}));
  EXPECT_TRUE(read_answers(cache.path()).empty());
  EXPECT_TRUE(read_answers(cache.path() / "none").empty());
}

TEST_F(CacheTest, TheOldestAnswersGoFirst) {
  for (int i = 0; i < 12; ++i) {
    TuneAnswers answers;
    for (int k = 0; k < 100; ++k) answers[std::to_string(100 * i + k)] = {"fft", ""};
    ASSERT_FALSE(add_answers(file, answers));
  }
  const TuneAnswers answers = read_answers(file);
  EXPECT_EQ(answers.size(), 1000u);
  EXPECT_TRUE(answers.contains("200") && answers.contains("1199"));
  EXPECT_FALSE(answers.contains("199"));
}

/// Readers see a complete file while others write.
TEST_F(CacheTest, ProcessesAtOnceLeaveItWhole) {
  ASSERT_FALSE(add_answers(file, {{"first", {"fft", ""}}}));
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < 50; ++i)
        good &= !add_answers(
            file, {{std::to_string(w) + ":" + std::to_string(i), {"fft", std::string(200, 'n')}}});
      _exit(good ? 0 : 1);
    }
    writers.push_back(child);
  }
  for (int i = 0; i < 200; ++i) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    ASSERT_TRUE(text.str().starts_with("# "));
    ASSERT_TRUE(text.str().ends_with('\n'));
    ASSERT_TRUE(read_answers(file).contains("first"));
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  for (const std::string& line : lines_of(file))
    EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 2) << line;
  const auto files = std::distance(fs::directory_iterator(file.parent_path()), {});
  EXPECT_EQ(files, 1) << "temporary files are left";
}

}  // namespace
}  // namespace api
