// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernel=tune: the kernel it chooses is able and correct, its answer is saved and used the next
// time, and the time it takes is bounded.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "support.hpp"
#include "tune_support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

class TuneTest : public CacheTest, public testing::WithParamInterface<Backend> {
 protected:
  void SetUp() override { open(GetParam(), device); }

  Matcher matcher_for(std::initializer_list<MatrixView> templates) {
    Matcher matcher = std::move(Matcher::create(device).value());
    EXPECT_TRUE(matcher.set_templates(std::span(templates.begin(), templates.size())).ok());
    return matcher;
  }
  static MatchSettings tuned() {
    MatchSettings settings;
    settings.kernel = "tune";
    settings.subpixel = Subpixel::none;
    return settings;
  }
  /// Prepares, and expects `pattern` where it was cut.
  void find(Matcher& matcher, const MatchSettings& settings = tuned()) {
    const Status status = matcher.prepare(ElementType::u8, frame.size, settings);
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view());
    ASSERT_FALSE(peaks.empty());
    EXPECT_EQ(peaks[0].x, 20);
    EXPECT_EQ(peaks[0].y, 10);
    EXPECT_NE(matcher.kernel(), "tune");
    EXPECT_TRUE(check_matching_name(device, matcher.kernel()).ok()) << matcher.kernel();
  }
  /// A kernel that finds `pattern` but is not the one given.
  std::string another_than(const std::string& kernel) const {
    for (const char* name : {"direct", "fft", "overlap_wise"})
      if (name != kernel && find_variant<stage::Correlate>(device.backend, name)) return name;
    return "";
  }
  /// Replaces the kernel in the file's only answer.
  void plant(const std::string& kernel) const {
    TuneAnswers answers = read_answers(file);
    ASSERT_EQ(answers.size(), 1u);
    answers.begin()->second.kernel = kernel;
    ASSERT_FALSE(add_answers(file, answers));
  }

  Device device;
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const Bytes pattern = crop(frame, {20, 10, 9, 8});
  const Bytes second = crop(frame, {31, 20, 12, 7});
};

ON_EACH_BACKEND(TuneTest);

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << "'" << text << "' lacks '" << part << "'";
}

// ---- choosing -------------------------------------------------------------------------------

TEST_P(TuneTest, TakesAKernelThatIsAbleAndRemembersIt) {
  Matcher matcher = matcher_for({pattern.view()});
  find(matcher);
  EXPECT_NE(matcher.kernel(), "fft_single");  // which is only for who asks for it
  const auto lines = lines_of(file);
  ASSERT_EQ(lines.size(), 1u);
  for (const std::string& part : {device.name, std::string("u8"), std::string("60x44"),
                                  std::string("1 of 9x8"), "\t" + matcher.kernel() + "\t"})
    expect_contains(lines[0], part);
  expect_contains(matcher.tuning(), "9x8: " + matcher.kernel());
  expect_contains(matcher.tuning(), "remembered in " + file.string());
}

TEST_P(TuneTest, TakesWhatTheFileSays) {
  Matcher matcher = matcher_for({pattern.view()});
  find(matcher);
  const std::string other = another_than(matcher.kernel());
  plant(other);
  const auto lines = lines_of(file);
  const auto written = fs::last_write_time(file);

  Matcher next = matcher_for({pattern.view()});
  find(next);
  EXPECT_EQ(next.kernel(), other);
  expect_contains(next.tuning(), "known from " + file.string());
  EXPECT_EQ(lines_of(file), lines);
  EXPECT_EQ(fs::last_write_time(file), written);
}

TEST_P(TuneTest, MeasuresAnewWhatTheFileCannotMean) {
  Matcher matcher = matcher_for({pattern.view()});
  find(matcher);
  for (const char* kernel : {"no_such_kernel", "tensor_core", "window_sums"}) {
    plant(kernel);
    Matcher next = matcher_for({pattern.view()});
    find(next);
    const auto lines = lines_of(file);
    ASSERT_EQ(lines.size(), 1u);
    expect_contains(lines[0], "\t" + next.kernel() + "\t");
  }
}

TEST_P(TuneTest, EachSizeOfTemplateHasItsKernel) {
  Matcher matcher = matcher_for({pattern.view(), second.view(), pattern.view()});
  find(matcher);
  TuneAnswers answers = read_answers(file);
  ASSERT_EQ(answers.size(), 2u);
  const bool first_is_pair = answers.begin()->first.find("2 of 9x8") != std::string::npos;
  TuneAnswer& of_pair = first_is_pair ? answers.begin()->second : answers.rbegin()->second;
  TuneAnswer& of_second = first_is_pair ? answers.rbegin()->second : answers.begin()->second;
  of_pair.kernel = another_than(of_pair.kernel);
  of_second.kernel = another_than(of_pair.kernel);
  ASSERT_FALSE(add_answers(file, answers));

  Matcher next = matcher_for({pattern.view(), second.view(), pattern.view()});
  find(next);
  EXPECT_EQ(next.kernel(), of_pair.kernel);
  expect_contains(next.tuning(), "9x8: " + of_pair.kernel + ", known");
  expect_contains(next.tuning(), "12x7: " + of_second.kernel + ", known");
}

TEST_P(TuneTest, AnotherProblemIsAnotherAnswer) {
  Matcher matcher = matcher_for({pattern.view()});
  MatchSettings settings = tuned();
  find(matcher, settings);
  const std::string said = matcher.tuning();
  settings.threshold = 0.8;
  settings.search_region = {0, 0, 100, 100};  // the frame
  find(matcher, settings);
  EXPECT_EQ(matcher.tuning(), said);
  EXPECT_EQ(lines_of(file).size(), 1u);

  settings.method = Method::sqdiff;
  find(matcher, settings);
  EXPECT_EQ(lines_of(file).size(), 2u);
  settings.max_peaks = 3;
  find(matcher, settings);
  settings.min_peak_distance = 2;
  find(matcher, settings);
  settings.search_region = {10, 5, 40, 30};
  find(matcher, settings);
  EXPECT_EQ(lines_of(file).size(), 5u);
  settings = tuned();
  settings.overhang = 0.2;
  find(matcher, settings);
  EXPECT_EQ(lines_of(file).size(), 6u);
}

TEST_P(TuneTest, TheEnvironmentMayAskForIt) {
  const Environment wish("XCORR_KERNEL", "tune");
  MatchSettings settings = tuned();
  settings.kernel = "auto";
  Matcher matcher = matcher_for({pattern.view()});
  find(matcher, settings);
  EXPECT_EQ(lines_of(file).size(), 1u);
  // A correlator, which measures nothing, treats it as "auto".
  const auto correlator =
      Correlator::create(dense_problem(ElementType::u8, Form::one_to_one, frame.size, pattern.size,
                                       1, 1, valid_shifts(frame.size, pattern.size)),
                         device);
  EXPECT_TRUE(correlator.ok()) << correlator.status().message();
}

TEST_P(TuneTest, SmoothedTemplatesAndFloats) {
  MatchSettings settings = tuned();
  settings.prefilter_sigma = 1;
  Matcher smooth = matcher_for({pattern.view()});
  find(smooth, settings);
  const auto floats = random_image<float>({40, 30}, 2);
  const auto part = crop(floats, {7, 5, 6, 6});
  const auto peaks = match(device, part, floats, tuned());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 7);
  EXPECT_EQ(lines_of(file).size(), 2u);
}

// ---- remembering ----------------------------------------------------------------------------

TEST_P(TuneTest, WithoutAFolderItWorksAndIsKnownToTheMatcherAlone) {
  std::ofstream(cache.path() / "plain") << "no folder";
  for (const std::string& place : {(cache.path() / "plain").string(), std::string()}) {
    const Environment xdg("XDG_CACHE_HOME", place);
    const Environment home("HOME", std::nullopt);
    Matcher matcher = matcher_for({pattern.view()});
    find(matcher);
    expect_contains(matcher.tuning(), "not remembered: ");
    const MatrixView view = pattern.view();
    ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
    find(matcher);
    expect_contains(matcher.tuning(), "9x8: " + matcher.kernel() + ", known");
  }
  EXPECT_TRUE(lines_of(file).empty());
}

TEST_P(TuneTest, ThreadsAtOnceFindOneAnswer) {
  std::vector<std::string> kernels(4);
  std::vector<std::thread> threads;
  for (std::string& kernel : kernels)
    threads.emplace_back([&] {
      ASSERT_TRUE(make_current(device).ok());
      Matcher matcher = matcher_for({pattern.view()});
      find(matcher);
      kernel = matcher.kernel();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(lines_of(file).size(), 1u);
  for (const std::string& kernel : kernels) EXPECT_FALSE(kernel.empty());
}

// ---- time -----------------------------------------------------------------------------------

/// By the definition this takes many seconds on a CPU.
TEST_P(TuneTest, WhatWouldTakeTooLongIsNotRun) {
  const auto large = random_image<std::uint8_t>({1400, 1400}, 3);
  const auto half = crop(large, {300, 200, 700, 700});
  const Environment seconds("XCORR_TUNE_SECONDS", "0.5");
  const auto time_with = [&](Matcher& matcher, const MatchSettings& settings) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(matcher.prepare(ElementType::u8, large.size, settings).ok());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  MatchSettings known = tuned();
  known.kernel = "fft";
  Matcher prepared = matcher_for({half.view()});
  const double least = time_with(prepared, known);
  Matcher matcher = matcher_for({half.view()});
  EXPECT_LT(time_with(matcher, tuned()), 2.5 + 3 * least);
  if (device.backend == Backend::cpu) {
    EXPECT_EQ(matcher.kernel(), "fft");
  }
}

TEST_P(TuneTest, WithoutTimeTheSelectorsChoiceIsTaken) {
  Matcher chosen = matcher_for({pattern.view()});
  MatchSettings settings = tuned();
  settings.kernel = "auto";
  find(chosen, settings);
  const Environment seconds("XCORR_TUNE_SECONDS", "0");
  Matcher matcher = matcher_for({pattern.view()});
  find(matcher);
  EXPECT_EQ(matcher.kernel(), chosen.kernel());
}

}  // namespace
}  // namespace api
