// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How sure peaks are: in scenes where a part is once, several times or not at all.
#include <cmath>

#include <xcorr/follower.hpp>
#include <xcorr/multi_matcher.hpp>
#include <xcorr/window_matcher.hpp>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

constexpr Size frame_size{240, 160}, part_size{24, 20};

/// Noise whose neighbours are alike, as in photographs.
Bytes texture(Size size, unsigned seed) {
  const Bytes noise = random_image<std::uint8_t>({size.width + 8, size.height + 8}, seed);
  Bytes smooth(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      int sum = 0;
      for (int v = 0; v < 5; ++v)
        for (int u = 0; u < 5; ++u) sum += noise.at(x + u, y + v);
      smooth.at(x, y) = static_cast<std::uint8_t>(std::clamp((sum - 25 * 128) / 6 + 128, 0, 255));
    }
  return smooth;
}

/// A plate with three rectangles on it.
Bytes icon(std::mt19937& random) {
  Bytes drawn({24, 24}, 235);
  const auto any = [&](int first, int last) {
    return first + static_cast<int>(random() % static_cast<unsigned>(last - first + 1));
  };
  const auto fill = [&](Rect where, int gray) {
    for (int y = where.y; y < where.y + where.height; ++y)
      for (int x = where.x; x < where.x + where.width; ++x)
        drawn.at(x, y) = static_cast<std::uint8_t>(gray);
  };
  fill({2, 2, 20, 20}, any(60, 140));
  for (int i = 0; i < 3; ++i) fill({any(4, 12), any(4, 12), any(3, 8), any(3, 8)}, any(0, 255));
  return drawn;
}

class ConfidenceTest : public testing::Test {
 protected:
  const Bytes part = texture(part_size, 1), background = texture(frame_size, 2);
  MatchSettings settings;

  ConfidenceTest() { settings.min_confidence = 0; }

  /// `share` of the part, over what is there.
  static void put(Bytes& frame, const Bytes& what, int x0, int y0, double share = 1) {
    for (int y = 0; y < what.size.height; ++y)
      for (int x = 0; x < what.size.width; ++x) {
        std::uint8_t& under = frame.at(x0 + x, y0 + y);
        under = static_cast<std::uint8_t>(share * what.at(x, y) + (1 - share) * under);
      }
  }
  Bytes with_copies(int count) const {
    Bytes frame = background;
    for (int i = 0; i < count; ++i) put(frame, part, 8 + 36 * (i % 6), 20 + 60 * (i / 6));
    return frame;
  }
  static Device device() { return open_device(Backend::cpu).value(); }
  Result<Matcher> prepared() const {
    auto matcher = Matcher::create(device());
    if (Status s = matcher.value().set_templates({{part.view()}}); !s.ok()) return s;
    if (Status s = matcher.value().prepare(ElementType::u8, frame_size, settings); !s.ok())
      return s;
    return matcher;
  }
  std::vector<Peak> peaks(const Bytes& frame) const {
    auto matcher = prepared();
    EXPECT_TRUE(matcher.ok()) << matcher.status().message();
    return matcher.ok() ? peaks_in(matcher.value(), frame.view()) : std::vector<Peak>{};
  }
};

TEST_F(ConfidenceTest, OnlyWhereAskedFor) {
  settings.min_confidence = -1;
  const auto found = peaks(with_copies(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, -1);
}

TEST_F(ConfidenceTest, APartThatIsThereIsSure) {
  const auto found = peaks(with_copies(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].confidence, 0.95);
  EXPECT_LE(found[0].confidence, 1);
}

TEST_F(ConfidenceTest, OneOfTwelveIdenticalPartsIsNot) {
  const Bytes frame = with_copies(12);
  const auto one = peaks(frame);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_GT(one[0].similarity, 0.999);
  EXPECT_LT(one[0].confidence, 0.25);
  settings.max_peaks = 12;
  const auto all = peaks(frame);
  ASSERT_EQ(all.size(), 12u);
  for (const Peak& peak : all) EXPECT_GT(peak.confidence, 0.95);
}

/// The best place is close enough for the threshold: smooth things resemble each other.
TEST_F(ConfidenceTest, WhatIsNotThereIsNotReported) {
  Bytes frame = background;
  put(frame, part, 40, 50, 0.45);
  put(frame, part, 150, 90, 0.44);
  settings.threshold = 0.5;
  const auto doubtful = peaks(frame);
  ASSERT_EQ(doubtful.size(), 1u);
  EXPECT_GT(doubtful[0].similarity, 0.5);
  EXPECT_LT(doubtful[0].confidence, 0.3);
  settings.min_confidence = 0.5;
  EXPECT_TRUE(peaks(frame).empty());
  put(frame, part, 40, 50);
  EXPECT_EQ(peaks(frame).size(), 1u);
}

/// Icons resemble each other: another one scores more than the default threshold.
TEST_F(ConfidenceTest, AnIconThatIsNotOnTheScreen) {
  std::mt19937 random(7);
  settings.threshold = 0.5;
  for (int trial = 0; trial < 20; ++trial) {
    const Bytes wanted = icon(random);
    Bytes screen(frame_size, 235);
    for (int i = 0; i < 11; ++i) put(screen, icon(random), 10 + 38 * (i % 6), 30 + 60 * (i / 6));
    settings.min_confidence = -1;
    const auto best = match<std::uint8_t>(device(), wanted, screen, settings);
    ASSERT_EQ(best.size(), 1u);
    EXPECT_GT(best[0].similarity, 0.6);
    settings.min_confidence = 0.5;
    EXPECT_TRUE(match<std::uint8_t>(device(), wanted, screen, settings).empty()) << trial;
    put(screen, wanted, 10 + 38 * 5, 90);
    EXPECT_EQ((match<std::uint8_t>(device(), wanted, screen, settings).size()), 1u) << trial;
  }
}

TEST_F(ConfidenceTest, DoesNotDependOnTheThreshold) {
  Bytes frame = with_copies(1);
  put(frame, part, 150, 90, 0.6);
  std::vector<double> sure;
  for (const double threshold : {-1.0, 0.2, 0.5, 0.9}) {
    settings.threshold = threshold;
    const auto found = peaks(frame);
    ASSERT_EQ(found.size(), 1u);
    sure.push_back(found[0].confidence);
  }
  for (const double each : sure) EXPECT_EQ(each, sure[0]);
  settings.threshold = 1;
  Bytes dim = background;
  put(dim, part, 40, 50, 0.9);
  EXPECT_TRUE(peaks(dim).empty());
}

/// Peaks are those of a search without confidence.
TEST_F(ConfidenceTest, ChangesNothingElse) {
  Bytes frame = with_copies(3);
  put(frame, part, 150, 90, 0.7);
  settings.max_peaks = 4;
  const auto with = peaks(frame);
  settings.min_confidence = -1;
  const auto without = peaks(frame);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i].x, without[i].x);
    EXPECT_EQ(with[i].y, without[i].y);
    EXPECT_EQ(with[i].score, without[i].score);
  }
}

TEST_F(ConfidenceTest, FlatFramesHaveNone) {
  EXPECT_TRUE(peaks(Bytes(frame_size, 90)).empty());
  Bytes frame(frame_size, 90);
  put(frame, part, 100, 60);
  const auto found = peaks(frame);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].confidence, 0.5);
}

TEST_F(ConfidenceTest, OnEdgesToo) {
  settings.match_on = MatchOn::edges;
  const auto one = peaks(with_copies(1)), of_twelve = peaks(with_copies(12));
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(of_twelve.size(), 1u);
  EXPECT_GT(one[0].confidence, 0.95);
  EXPECT_LT(of_twelve[0].confidence, 0.25);
  settings.threshold = 0.1;
  const auto absent = peaks(background);
  ASSERT_EQ(absent.size(), 1u);
  EXPECT_LT(absent[0].confidence, 0.5);
}

TEST_F(ConfidenceTest, AtPosesToo) {
  settings.poses.angle_start = -20;
  settings.poses.angle_extent = 40;
  const auto one = peaks(with_copies(1)), of_twelve = peaks(with_copies(12));
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(of_twelve.size(), 1u);
  EXPECT_GT(one[0].confidence, 0.8);
  EXPECT_LT(of_twelve[0].confidence, 0.25);
}

/// Of several templates each is judged by its own places, by one device or by several, and in
/// windows by what is in them.
TEST_F(ConfidenceTest, OfManyMatchersAndOfWindows) {
  const Bytes frame = with_copies(2);
  const Device cpu[] = {device()};
  auto multi = MultiMatcher::create(cpu);
  ASSERT_TRUE(multi.ok());
  const Bytes another = crop(background, {200, 130, 20, 16});
  ASSERT_TRUE(multi.value().set_templates({{part.view(), another.view()}}).ok());
  ASSERT_TRUE(multi.value().prepare(ElementType::u8, frame_size, settings).ok());
  ASSERT_TRUE(multi.value().enqueue(frame.view()).ok());
  std::vector<Peak> found;
  ASSERT_TRUE(multi.value().collect(found).ok());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LT(found[0].confidence, 0.25);
  EXPECT_GT(found[1].confidence, 0.8);

  auto windows = WindowMatcher::create(device());
  ASSERT_TRUE(windows.ok());
  ASSERT_TRUE(windows.value().set_templates({{part.view()}}).ok());
  ASSERT_TRUE(windows.value().prepare(ElementType::u8, frame_size, settings).ok());
  const SearchWindow around_one{0, {0, 0, 40, 60}}, around_both{0, {0, 0, 120, 60}};
  ASSERT_TRUE(windows.value().enqueue(frame.view(), {{around_one, around_both}}).ok());
  std::vector<std::vector<Peak>> in;
  ASSERT_TRUE(windows.value().collect(in).ok());
  ASSERT_EQ(in[0].size(), 1u);
  ASSERT_EQ(in[1].size(), 1u);
  EXPECT_GT(in[0][0].confidence, 0.8);
  EXPECT_LT(in[1][0].confidence, 0.25);
}

TEST_F(ConfidenceTest, SettingsThatCannotBe) {
  const auto code = [&] { return prepared().status().code(); };
  for (const double least : {-1.5, 1.5, std::nan("")}) {
    settings.min_confidence = least;
    EXPECT_EQ(code(), Code::invalid_argument);
  }
  settings.min_confidence = 0.5;
  settings.max_peaks = 1024;
  EXPECT_EQ(code(), Code::unsupported);
  settings.max_peaks = 1;
  settings.method = Method::sqdiff_normed;
  EXPECT_EQ(code(), Code::unsupported);
  EXPECT_FALSE(has_confidence(settings));
  settings.match_on = MatchOn::color;
  EXPECT_FALSE(has_confidence(settings));
  settings.match_on = MatchOn::edges;
  EXPECT_TRUE(has_confidence(settings));
  settings.match_on = MatchOn::luma;
  settings.min_confidence = -1;
  EXPECT_EQ(code(), Code::ok);
}

TEST_F(ConfidenceTest, TracksHaveTheirOwn) {
  EXPECT_LT(search_for_tracks(settings).min_confidence, 0);
}

}  // namespace
}  // namespace api
