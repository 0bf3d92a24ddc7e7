// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matcher's contract apart from the numbers: banks, settings, order of calls, errors.
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

class MatcherTest : public testing::Test {
 protected:
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const Bytes pattern = crop(frame, {20, 10, 9, 8});
  const Bytes second = crop(frame, {41, 30, 7, 12});
  Matcher matcher = std::move(Matcher::create(open_device(Backend::cpu).value()).value());

  Status set(std::initializer_list<MatrixView> views) {
    return matcher.set_templates(std::span(views.begin(), views.size()));
  }
  static MatchSettings whole_pixels() {
    MatchSettings settings;
    settings.subpixel = Subpixel::none;
    return settings;
  }
  Status prepare(const MatchSettings& settings = whole_pixels()) {
    return matcher.prepare(ElementType::u8, frame.size, settings);
  }
  std::vector<Peak> run() { return peaks_in(matcher, frame.view()); }
};

/// Two templates that resemble each other, a copy of each, and another that overlaps half a copy.
TEST_F(MatcherTest, OnlyTheBestTemplateReports) {
  Bytes alike = pattern, scene = random_image<std::uint8_t>({60, 44}, 5);
  for (int x = 0; x < 9; ++x) alike.at(x, 3) = static_cast<std::uint8_t>(255 - pattern.at(x, 3));
  const auto paste = [&](const Bytes& image, int x0, int y0) {
    for (int y = 0; y < image.size.height; ++y)
      for (int x = 0; x < image.size.width; ++x) scene.at(x0 + x, y0 + y) = image.at(x, y);
  };
  paste(pattern, 5, 6);
  paste(alike, 30, 20);
  const Bytes beside = crop(scene, {8, 6, 9, 8});
  ASSERT_TRUE(set({alike.view(), pattern.view(), beside.view()}).ok());
  MatchSettings settings = whole_pixels();
  settings.max_peaks = 2;
  settings.threshold = 0.6;
  const auto found = [&] {
    EXPECT_TRUE(prepare(settings).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, scene.view());
    std::vector<std::array<double, 3>> places;
    for (const Peak& peak : peaks) places.push_back({double(peak.template_index), peak.x, peak.y});
    return places;
  };
  using Places = std::vector<std::array<double, 3>>;
  EXPECT_EQ(found(), (Places{{0, 30, 20}, {0, 5, 6}, {1, 5, 6}, {1, 30, 20}, {2, 8, 6}}));
  settings.best_template = true;
  settings.poses.max_overlap = 0.8;
  EXPECT_EQ(found(), (Places{{0, 30, 20}, {1, 5, 6}, {2, 8, 6}}));
  settings.poses.max_overlap = 0.5;  // of equal ones the first
  EXPECT_EQ(found(), (Places{{0, 30, 20}, {1, 5, 6}}));
  settings.poses.max_overlap = 1.5;
  EXPECT_EQ(prepare(settings).code(), Code::invalid_argument);
}

/// Of one thing the best sample at each place, and no more than max_peaks; others as they are.
TEST(KeepBestSamples, CountsPeaksByThing) {
  const auto peak = [](std::uint32_t index, double x, double similarity) {
    return Peak{index, x, 5, 10, 10, similarity, similarity, {x + 4.5, 9.5, 0, 1, 10, 10}};
  };
  const std::vector<Peak> all{peak(0, 10, 0.8), peak(0, 50, 0.9), peak(1, 11, 0.7),
                              peak(2, 11, 0.9), peak(2, 80, 0.6)};
  const std::vector<std::uint32_t> things{0, 1, 0};
  const auto kept = [&](int max_peaks) {
    std::vector<Peak> peaks = all;
    keep_best_samples(peaks, things, 0.5, max_peaks);
    std::vector<std::pair<int, double>> places;
    for (const Peak& one : peaks) places.emplace_back(one.template_index, one.x);
    return places;
  };
  using Places = std::vector<std::pair<int, double>>;
  EXPECT_EQ(kept(9), (Places{{0, 50}, {1, 11}, {2, 11}, {2, 80}}));
  EXPECT_EQ(kept(2), (Places{{0, 50}, {1, 11}, {2, 11}}));
  EXPECT_EQ(kept(1), (Places{{0, 50}, {1, 11}}));  // of equal ones the first
}

TEST_F(MatcherTest, AnErrorKeepsTheOldBank) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  const Image<float> floats({4, 4}, 1.0f);
  MatrixView empty = second.view(), null = second.view(), short_pitch = second.view(),
             device = second.view(), wrong_type = second.view(), huge = second.view();
  empty.size.width = 0;
  null.data = nullptr;
  short_pitch.pitch = 6;
  device.memory = Memory::device;
  wrong_type.type = ElementType::u32;
  wrong_type.pitch = 28;
  huge.size = {4000, 3000};
  huge.pitch = 4000;
  for (const MatrixView& bad :
       {empty, null, short_pitch, device, wrong_type, huge, floats.view()}) {
    const Status status = set({second.view(), bad});
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_FALSE(status.message().empty());
    const auto peaks = run();  // without another prepare()
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_EQ(peaks[0].x, 20);
    EXPECT_EQ(peaks[0].width, 9);
  }
}

TEST_F(MatcherTest, ErrorsNameTheTemplate) {
  MatrixView empty = second.view();
  empty.size.height = 0;
  EXPECT_NE(set({pattern.view(), empty}).message().find("template 1"), std::string::npos);
}

TEST_F(MatcherTest, BanksAreSwapped) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(run().at(0).x, 20);
  ASSERT_TRUE(set({second.view(), pattern.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  const auto peaks = run();
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].template_index, 0u);
  EXPECT_EQ(peaks[0].x, 41);
  EXPECT_EQ(peaks[1].template_index, 1u);
  EXPECT_EQ(peaks[1].x, 20);
}

TEST_F(MatcherTest, WithoutTemplatesThereAreNoPeaks) {
  ASSERT_TRUE(set({}).ok());
  ASSERT_TRUE(prepare().ok());
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(matcher.kernel(), "");
}

TEST_F(MatcherTest, TemplateLargerThanTheFrameNeverMatches) {
  const Bytes wide({61, 4}, 9), tall({4, 45}, 9);
  ASSERT_TRUE(set({wide.view(), tall.view()}).ok());
  EXPECT_EQ(matcher.kernel(), "");
  MatchSettings settings;
  settings.threshold = -1;
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(matcher.kernel(), "");
  // Those that fit are still found.
  ASSERT_TRUE(set({wide.view(), pattern.view(), tall.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  const auto peaks = run();
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].template_index, 1u);
  EXPECT_NE(matcher.kernel(), "");
}

TEST_F(MatcherTest, SaysWhichTemplateDoesNotFit) {
  EXPECT_EQ(matcher.all_fit().code(), Code::invalid_argument) << "before prepare()";
  const Bytes large = random_image<std::uint8_t>({61, 9}, 2);
  ASSERT_TRUE(set({pattern.view(), large.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  const Status status = matcher.all_fit();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "template 1 of 61x9 does not fit into the search region of 60x44");
  ASSERT_TRUE(set({pattern.view(), second.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  EXPECT_TRUE(matcher.all_fit().ok());
}

TEST_F(MatcherTest, SaysWhichElementTypesTemplatesMayHave) {
  const Image<double> doubles({4, 4}, 1.0);
  EXPECT_EQ(set({doubles.view()}).message(),
            "template 0 has elements of type f64; templates are of u8, u16 or f32");
  EXPECT_EQ(matcher.prepare(ElementType::f64, frame.size, whole_pixels()).message(),
            "frames of type f64; frames are of u8, u16 or f32");
}

TEST_F(MatcherTest, SettingsChangeBetweenFrames) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  MatchSettings settings = whole_pixels();
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(run().size(), 1u);
  settings.threshold = -1;
  settings.max_peaks = 7;
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(run().size(), 7u);
  settings.method = Method::sqdiff;
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(run().at(0).score, 0.0);
  settings.search_region = {0, 0, 30, 30};
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(run().at(0).x, 20);
  settings.search_region = {10, 5, 30, 30};
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(run().at(0).x, 20);
  settings.search_region = {21, 0, 30, 30};
  settings.threshold = 0.9;
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_TRUE(run().empty());
}

TEST_F(MatcherTest, FramesOfAnotherSize) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(run().at(0).y, 10);
  const Bytes smaller = crop(frame, {15, 5, 30, 25});
  EXPECT_EQ(matcher.enqueue(smaller.view()).code(), Code::invalid_argument);
  ASSERT_TRUE(matcher.prepare(ElementType::u8, smaller.size, whole_pixels()).ok());
  const std::vector<Peak> peaks = peaks_in(matcher, smaller.view());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].score, 1.0);
  EXPECT_EQ(peaks[0].x, 5);
}

TEST_F(MatcherTest, BadSettings) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  const auto code = [&](auto change) {
    MatchSettings settings = whole_pixels();
    change(settings);
    return prepare(settings).code();
  };
  using S = MatchSettings;
  EXPECT_EQ(code([](S&) {}), Code::ok);
  EXPECT_EQ(code([](S& s) { s.threshold = 1.01; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.threshold = -1.01; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.threshold = std::nan(""); }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.subpixel_threshold = 1.01; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.subpixel_threshold = std::nan(""); }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.max_peaks = 0; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.max_peaks = 1025; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.min_peak_distance = -1; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.method = static_cast<Method>(6); }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.polarity = static_cast<Polarity>(3); }), Code::invalid_argument);
  for (const MethodInfo& method : methods())
    for (const Polarity polarity : {Polarity::inverted, Polarity::either})
      EXPECT_EQ(code([&](S& s) {
                  s.method = method.method;
                  s.polarity = polarity;
                }),
                method.centred ? Code::ok : Code::unsupported)
          << method.name;
  EXPECT_EQ(code([](S& s) { s.min_contrast = -0.1; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.min_contrast = std::nan(""); }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.min_contrast = HUGE_VAL; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.confirm_threshold = -0.1; }), Code::invalid_argument);
  EXPECT_EQ(code([](S& s) { s.kernel = "no-such"; }), Code::unsupported);
  EXPECT_EQ(matcher.prepare(ElementType::u8, {0, 5}, {}).code(), Code::invalid_argument);
  EXPECT_EQ(matcher.prepare(ElementType::f32, frame.size, {}).code(), Code::invalid_argument);
}

TEST_F(MatcherTest, UnknownKernelWithoutATemplateThatFits) {
  MatchSettings settings = whole_pixels();
  settings.kernel = "no-such";
  const auto expect_refused = [&] {
    const Status status = prepare(settings);
    EXPECT_EQ(status.code(), Code::unsupported);
    EXPECT_NE(status.message().find("'no-such'"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("direct, fft"), std::string::npos) << status.message();
  };
  expect_refused();
  ASSERT_TRUE(set({Bytes({61, 4}, 9).view()}).ok());
  expect_refused();
  settings.kernel = "auto";
  ASSERT_EQ(setenv("XCORR_KERNEL", "no-such", 1), 0);
  expect_refused();
  unsetenv("XCORR_KERNEL");
  EXPECT_TRUE(prepare(settings).ok());
}

TEST_F(MatcherTest, KernelByNameAndByEnvironment) {
  ASSERT_TRUE(set({pattern.view()}).ok());
  MatchSettings settings = whole_pixels();
  ASSERT_TRUE(prepare(settings).ok());
  const std::string other_name = matcher.kernel() == "direct" ? "fft" : "direct";
  settings.kernel = other_name;
  ASSERT_TRUE(prepare(settings).ok());
  EXPECT_EQ(matcher.kernel(), other_name);
  EXPECT_EQ(run().at(0).x, 20);

  ASSERT_EQ(setenv("XCORR_KERNEL", other_name.c_str(), 1), 0);
  auto other = Matcher::create(open_device(Backend::cpu).value());
  ASSERT_TRUE(other.ok());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(other.value().set_templates({&view, 1}).ok());
  EXPECT_TRUE(other.value().prepare(ElementType::u8, frame.size, {}).ok());
  EXPECT_EQ(other.value().kernel(), other_name);
  // A name in the settings overrides the environment's.
  settings.kernel = "fft_single";
  EXPECT_TRUE(other.value().prepare(ElementType::u8, frame.size, settings).ok());
  EXPECT_EQ(other.value().kernel(), "fft_single");
  unsetenv("XCORR_KERNEL");
}

TEST(Approximate, ProposesTheSamePeaksWithTheSameScores) {
  const Device cpu = open_device(Backend::cpu).value();
  const auto frame = random_image<std::uint8_t>({260, 200}, 5);
  const auto pattern = crop(frame, {90, 70, 48, 40});
  const MatrixView view = pattern.view();
  std::vector<std::uint8_t> holed(48 * 40, 1);
  holed[0] = 0;
  const MatrixView mask{holed.data(), ElementType::u8, {48, 40}, 48};
  MatchSettings settings;
  settings.threshold = 0.05;
  settings.max_peaks = 8;
  const auto kernel_with = [&](std::span<const MatrixView> masks) {
    Matcher matcher = std::move(Matcher::create(cpu).value());
    EXPECT_TRUE(matcher.set_templates({&view, 1}, masks).ok());
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    return std::string(matcher.kernel());
  };
  const std::string usual = kernel_with({});
  EXPECT_TRUE(usual == "fft" || usual == "amx") << usual;  // as the processor has the unit or not
  const auto exact = match(cpu, pattern, frame, settings);
  settings.approximate = true;
  EXPECT_EQ(kernel_with({}), usual == "fft" ? "fft_single" : usual);
  EXPECT_EQ(kernel_with({&mask, 1}), usual);
  const auto found = match(cpu, pattern, frame, settings);
  ASSERT_EQ(found.size(), exact.size());
  EXPECT_EQ(exact.size(), 8u);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(found[i].score, exact[i].score);
    EXPECT_EQ(found[i].x, exact[i].x);
    EXPECT_EQ(found[i].y, exact[i].y);
  }
  settings.kernel = "fft";
  EXPECT_EQ(kernel_with({}), "fft");
}

TEST_F(MatcherTest, OneObjectAThread) {
  const auto find_in_thread = [](unsigned seed, std::vector<double>& places) {
    const auto own_frame = random_image<std::uint8_t>({90, 70}, seed);
    for (int i = 0; i < 20; ++i) {
      const auto own = crop(own_frame, {i, 2 * i, 20 + i, 12});
      for (const Peak& peak :
           match(open_device(Backend::cpu).value(), own, own_frame, whole_pixels()))
        places.push_back(peak.x);
    }
  };
  std::vector<double> first, second, expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  std::thread one(find_in_thread, 2, std::ref(first)), two(find_in_thread, 3, std::ref(second));
  one.join();
  two.join();
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
}

TEST(SearchedRegion, IsCutOffAtTheFramesEdges) {
  const Size frame{60, 40};
  constexpr int far = std::numeric_limits<int>::max();
  EXPECT_EQ(searched_region(frame, {}), (Rect{0, 0, 60, 40}));
  EXPECT_EQ(searched_region(frame, {5, 6, 0, 9}), (Rect{0, 0, 60, 40}));
  EXPECT_EQ(searched_region(frame, {5, 6, 7, 8}), (Rect{5, 6, 7, 8}));
  EXPECT_EQ(searched_region(frame, {50, 30, 10, 10}), (Rect{50, 30, 10, 10}));
  EXPECT_EQ(searched_region(frame, {50, 30, 20, far}), (Rect{50, 30, 10, 10}));
  EXPECT_EQ(searched_region(frame, {-3, -4, 10, 10}), (Rect{0, 0, 7, 6}));
  EXPECT_EQ(searched_region(frame, {-far, 1, far, 2}).size(), (Size{0, 2}));
  EXPECT_EQ(searched_region(frame, {far, 1, far, 2}).size(), (Size{0, 2}));
  EXPECT_EQ(searched_region(frame, {60, 40, 1, 1}).size(), (Size{0, 0}));
}

TEST_F(MatcherTest, CallsOutOfOrder) {
  std::vector<Peak> peaks;
  EXPECT_EQ(matcher.enqueue(frame.view()).code(), Code::invalid_argument);
  EXPECT_EQ(matcher.collect(peaks).code(), Code::invalid_argument);
  ASSERT_TRUE(set({pattern.view()}).ok());
  EXPECT_EQ(matcher.enqueue(frame.view()).code(), Code::invalid_argument);
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(matcher.collect(peaks).code(), Code::invalid_argument);
  MatrixView null = frame.view();
  null.data = nullptr;
  EXPECT_EQ(matcher.enqueue(null).code(), Code::invalid_argument);
  MatrixView short_pitch = frame.view();
  short_pitch.pitch = 59;
  EXPECT_EQ(matcher.enqueue(short_pitch).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace api
