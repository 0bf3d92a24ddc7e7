// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges of pictures in colour: what luma has no edges of, which channel's count, and that those of
// gray are as ever.
#include <xcorr/window_matcher.hpp>

#include "cluttered.hpp"
#include "planes.hpp"

namespace api {
namespace {

MatchSettings on(MatchOn match_on) {
  MatchSettings settings;
  settings.match_on = match_on;
  settings.threshold = 0.5;
  return settings;
}

MatchSettings with(MatchSettings settings, MatchOn match_on) {
  settings.match_on = match_on;
  return settings;
}

/// A frame with the part of 64 x 64 pixels at (57, 41).
Bytes with_part(const Bytes& part) {
  Bytes frame = cluttered({140, 110}, 2);
  for (int y = 0; y < part.size.height; ++y)
    for (int x = 0; x < part.size.width; ++x) frame.at(57 + x, 41 + y) = part.at(x, y);
  return frame;
}

class ColorEdgesTest : public PosedTest {
 protected:
  const Bytes part = cluttered({64, 64}, 1);
  const Bytes frame = with_part(part);

  Matcher matcher_of(const MatrixView& pattern, const MatrixView& mask = {}) {
    Matcher matcher = std::move(Matcher::create(device).value());
    EXPECT_TRUE(matcher.set_templates({&pattern, 1}, {&mask, 1}).ok());
    return matcher;
  }
  std::vector<Peak> find(const MatrixView& in, const MatrixView& pattern,
                         const MatchSettings& settings, const MatrixView& mask = {}) {
    Matcher matcher = matcher_of(pattern, mask);
    std::vector<Peak> peaks;
    for (const Status& s :
         {matcher.prepare(in.type, in.size, settings), matcher.enqueue(in), matcher.collect(peaks)})
      EXPECT_TRUE(s.ok()) << s.message();
    return peaks;
  }
  /// At each place.
  std::vector<float> scores(const MatrixView& in, const MatrixView& pattern,
                            const MatchSettings& settings) {
    Matcher matcher = matcher_of(pattern);
    EXPECT_TRUE(matcher.prepare(in.type, in.size, settings).ok());
    Response response;
    const Status status = matcher.respond(in, 0, response);
    EXPECT_TRUE(status.ok()) << status.message();
    return response.values;
  }
  static void expect_copy(const std::vector<Peak>& peaks) {
    ASSERT_EQ(peaks.size(), 1U);
    EXPECT_EQ(peaks[0].score, 1);
    EXPECT_NEAR(peaks[0].x, 57, 0.1);
    EXPECT_NEAR(peaks[0].y, 41, 0.1);
  }
};

TEST_P(ColorEdgesTest, OutlinesOfEqualLuma) {
  const auto planes = of_equal_luma(frame), of_part = of_equal_luma(part);
  const Packed packed(planes, 4, 2, 1, 0), pattern(of_part, 3, 0, 1, 2);
  expect_copy(find(packed.view, pattern.view, on(MatchOn::color_edges)));
  Matcher gray = matcher_of(pattern.view);
  EXPECT_EQ(gray.prepare(ElementType::u8, frame.size, on(MatchOn::edges)).code(),
            Code::invalid_argument);
  // Planes where they lie, in part of the frame, smoothed.
  MatchSettings settings = on(MatchOn::color_edges);
  settings.search_region = {53, 39, 71, 69};
  expect_copy(find(planar(planes), planar(of_part), settings));
  settings.prefilter_sigma = 1;
  const auto smoothed = find(planar(planes), planar(of_part), settings);
  ASSERT_EQ(smoothed.size(), 1U);
  EXPECT_GT(smoothed[0].score, 0.95);
}

/// The longest gradient counts; of equally long ones the first plane's.
TEST_P(ColorEdgesTest, TheStrongestChannel) {
  const auto planes_of = [](const Bytes& image) {
    Planes<std::uint8_t> planes{image, image, image};
    for (std::size_t i = 0; i < image.data.size(); ++i) {
      const int even = image.data[i] / 2 * 2;
      planes[0].data[i] = static_cast<std::uint8_t>(even / 2);
      planes[1].data[i] = static_cast<std::uint8_t>(even);
      planes[2].data[i] = static_cast<std::uint8_t>(255 - even);
    }
    return planes;
  };
  const auto planes = planes_of(frame), of_part = planes_of(part);
  EXPECT_EQ(scores(planar(planes), planar(of_part), on(MatchOn::color_edges)),
            scores(planes[1].view(), of_part[1].view(), on(MatchOn::edges)));
}

TEST_P(ColorEdgesTest, GrayIsAsEver) {
  const Packed gray({frame, frame, frame}, 3, 0, 1, 2);
  const auto expected = scores(frame.view(), part.view(), on(MatchOn::edges));
  EXPECT_EQ(scores(gray.view, part.view(), on(MatchOn::color_edges)), expected);
  EXPECT_EQ(scores(gray.view, part.view(), on(MatchOn::edges)), expected);
}

/// Of one luma under its mask, but not of one colour: no glyph.
TEST_P(ColorEdgesTest, MasksThatLeaveOneLuma) {
  const auto planes_of = [](const Bytes& image) {
    return Planes<std::uint8_t>{Bytes(image.size, 90), image, image};
  };
  Bytes mask(part.size);
  for (int y = 8; y < 56; ++y)
    for (int x = 8; x < 56; ++x) mask.at(x, y) = 1;
  const auto planes = planes_of(frame), of_part = planes_of(part);
  expect_copy(find(planar(planes), planar(of_part), on(MatchOn::color_edges), mask.view()));
}

TEST_P(ColorEdgesTest, LiveTemplatesAndWindows) {
  const Packed in(of_equal_luma(frame), 3, 2, 1, 0),
      first(of_equal_luma(cluttered({64, 64}, 9)), 3, 0, 1, 2);
  auto live = LiveTemplate::create(device, first.view);
  ASSERT_TRUE(live.ok()) << live.status().message();
  WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
  const std::shared_ptr<const LiveTemplate> shared = live.value();
  ASSERT_TRUE(matcher.set_templates({&shared, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, on(MatchOn::color_edges)).ok());
  ASSERT_TRUE(live.value()->blend(in.view, 57, 41, 1).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  const SearchWindow windows[] = {{0, {40, 30, 100, 80}}};
  std::vector<std::vector<Peak>> found;
  const Status status = matcher.enqueue(in.view, windows);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(matcher.collect(found).ok());
  ASSERT_EQ(found.size(), 1U);
  expect_copy(found[0]);
}

/// At any angle; the places come from the edges of colour themselves.
TEST_P(ColorEdgesTest, TurnedParts) {
  const Scene scene{.part = {72, 64},
                    .poses = {{60.3, 58.8, 25}, {150.6, 60.2, -130}, {62.5, 150.1, 171}}};
  const auto planes = of_equal_luma(scene.frame({210, 210}));
  const auto pattern = of_equal_luma(scene.pattern());
  MatchSettings settings = all_round(3);
  settings.match_on = MatchOn::color_edges;
  settings.threshold = 0.6;
  expect_parts(find(planar(planes), planar(pattern), settings), scene, 0.15, 0.2, 0.6);
  // Of gray they are the edges of gray.
  const Bytes gray = scene.frame({210, 210}), gray_part = scene.pattern();
  const auto expected = match(gray, gray_part, with(settings, MatchOn::edges));
  const Planes<std::uint8_t> grays{gray, gray, gray};
  const auto got = find(planar(grays), gray_part.view(), settings);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].score, expected[i].score);
    EXPECT_EQ(got[i].pose.angle, expected[i].pose.angle);
    EXPECT_EQ(got[i].x, expected[i].x);
  }
}

TEST_P(ColorEdgesTest, Refused) {
  Matcher matcher = matcher_of(part.view());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, on(MatchOn::color_edges)).ok());
  EXPECT_EQ(matcher.enqueue(frame.view()).message(),
            "the frame is gray: it has no colour to match on");
  MatchSettings settings = all_round(5);
  settings.match_on = MatchOn::color_edges;
  EXPECT_EQ(matcher.prepare(ElementType::u8, frame.size, settings).message(), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, ColorEdgesTest, testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& info) { return xcorr::name_of(info.param); });

}  // namespace
}  // namespace api
