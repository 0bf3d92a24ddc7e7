// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks at any pose: of two icons that differ in a small part the right one
// stays, however it is turned, scaled, lit and stored.
#include "planes.hpp"
#include "posed_scene.hpp"

namespace api {
namespace {

constexpr Size frame_size{190, 120};
/// Where the icon and the other one are.
constexpr double icon_x = 52.3, other_x = 134.6, icon_y = 58.7;

/// An icon, and another one with a brighter part of 9 x 8 pixels.
struct Icons {
  Scene icon, other;

  explicit Icons(double angle, double scale = 1, double more = 50,
                 std::function<double(double, double)> inside = Texture(1)) {
    icon.inside = inside;
    icon.poses = {{icon_x, icon_y, angle, scale}};
    other.poses = {{other_x, icon_y, angle + 75, scale}};
    other.inside = [inside, more](double u, double v) {
      return inside(u, v) + (std::abs(u - 8) < 4.5 && std::abs(v + 5) < 4 ? more : 0);
    };
  }
  /// The two halves of a frame, on the same ground.
  template <class T>
  Image<T> frame(double gain = 1, double offset = 0) const {
    Image<T> made = icon.image<T>(frame_size, gain, offset);
    const Image<T> right = other.image<T>(frame_size, gain, offset);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = frame_size.width / 2; x < frame_size.width; ++x) made.at(x, y) = right.at(x, y);
    return made;
  }
};

MatchSettings settings_of(double confirm_threshold) {
  MatchSettings settings = all_round(2);
  settings.threshold = 0.7;
  settings.confirm_threshold = confirm_threshold;
  return settings;
}

/// More than what resampling leaves of the right one, less than what the other one has.
constexpr double between = 14;

void expect_the_icon(const std::vector<Peak>& peaks) {
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_NEAR(peaks[0].pose.center_x, icon_x, 0.2);
  EXPECT_NEAR(peaks[0].pose.center_y, icon_y, 0.2);
}

class ConfirmPosesTest : public PosedTest {};

ON_EACH_BACKEND(ConfirmPosesTest);

/// Of a smooth texture hardly anything is left by resampling.
TEST_P(ConfirmPosesTest, TellsSimilarIconsApart) {
  for (const double angle : {17.0, 101.5, 249.0}) {
    const Icons icons(angle);
    const Bytes frame = icons.frame<std::uint8_t>(), pattern = icons.icon.pattern();
    EXPECT_EQ(match(frame, pattern, settings_of(0)).size(), 2U) << angle;
    expect_the_icon(match(frame, pattern, settings_of(2)));
    expect_the_icon(match(frame, pattern, settings_of(20)));
    EXPECT_TRUE(match(frame, pattern, settings_of(0.05)).empty()) << angle;
  }
}

/// Blocks of six pixels: their edges are between pixels in one picture and not in the other.
TEST_P(ConfirmPosesTest, WithHardEdges) {
  const auto blocks = [levels = random_image<std::uint8_t>({16, 16}, 5)](double u, double v) {
    const auto block = [](double place) { return static_cast<int>(std::floor(place / 6)) & 15; };
    return 30 + 0.7 * levels.at(block(u), block(v));
  };
  for (const double angle : {17.0, 163.0}) {
    const Icons icons(angle, 1, 50, blocks);
    const Bytes frame = icons.frame<std::uint8_t>(), pattern = icons.icon.pattern();
    for (const double threshold : {15.0, 20.0})
      expect_the_icon(match(frame, pattern, settings_of(threshold)));
  }
}

TEST_P(ConfirmPosesTest, OfOtherSizes) {
  for (const double scale : {0.75, 1.35}) {
    const Icons icons(28, scale);
    MatchSettings settings = settings_of(0);
    settings.poses.scale_min = 0.7;
    settings.poses.scale_max = 1.4;
    const Bytes frame = icons.frame<std::uint8_t>(), pattern = icons.icon.pattern();
    EXPECT_EQ(match(frame, pattern, settings).size(), 2U) << scale;
    settings.confirm_threshold = between;
    expect_the_icon(match(frame, pattern, settings));
  }
}

/// Brightness and contrast are fitted first; words and floats have levels of their own.
TEST_P(ConfirmPosesTest, LitAndStoredOtherwise) {
  const Icons icons(205);
  const auto expect = [&]<class T>(T, double gain, double offset, double levels) {
    const Image<T> frame = icons.frame<T>(gain, offset),
                   pattern = icons.icon.part_image<T>(levels, 0);
    EXPECT_EQ(api::match(device, pattern, frame, settings_of(0)).size(), 2U);
    expect_the_icon(api::match(device, pattern, frame, settings_of(between * levels)));
  };
  expect(std::uint8_t{}, 0.6, 60, 1);
  expect(std::uint16_t{}, 150, 900, 200);
  expect(float{}, 0.01, 7, 0.01);
}

TEST_P(ConfirmPosesTest, OfEitherContrast) {
  Icons icons(62);
  icons.icon.positives = icons.other.positives = 0;
  const Bytes frame = icons.frame<std::uint8_t>();
  Scene upright = icons.icon;
  upright.positives = SIZE_MAX;
  for (const Polarity polarity : {Polarity::inverted, Polarity::either}) {
    MatchSettings settings = settings_of(between);
    settings.polarity = polarity;
    const auto peaks = match(frame, upright.pattern(), settings);
    expect_the_icon(peaks);
    EXPECT_TRUE(peaks[0].inverted);
  }
}

/// What does not count is not looked at: it may be that what differs is all there.
TEST_P(ConfirmPosesTest, Masked) {
  const Icons icons(118);
  const Bytes frame = icons.frame<std::uint8_t>(), pattern = icons.icon.pattern();
  Bytes without(pattern.size, 1), left_half(pattern.size, 1);
  for (int y = 0; y < pattern.size.height; ++y)
    for (int x = 0; x < pattern.size.width; ++x) {
      without.at(x, y) = x < 23 || x > 40 || y > 25;
      left_half.at(x, y) = x < 44;
    }
  EXPECT_EQ(match(frame, pattern, settings_of(between), &without).size(), 2U);
  expect_the_icon(match(frame, pattern, settings_of(between), &left_half));
}

/// The other one differs in hue alone.
TEST_P(ConfirmPosesTest, InColor) {
  const Icons icons(292), other_hue(292, 1, -35);
  const auto planes_of = [](const Bytes& red, const Bytes& green) {
    return Planes<std::uint8_t>{red, green, green};
  };
  const Bytes plain = icons.icon.pattern();
  const auto frame = planes_of(icons.frame<std::uint8_t>(), other_hue.frame<std::uint8_t>()),
             pattern = planes_of(plain, plain);
  const MatrixView view = planar(frame), templ = planar(pattern);
  for (const double threshold : {0.0, between}) {
    MatchSettings settings = settings_of(threshold);
    settings.match_on = MatchOn::color;
    Matcher matcher = std::move(Matcher::create(device).value());
    ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
    ASSERT_TRUE(matcher.prepare(ElementType::u8, view.size, settings).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, view);
    if (threshold > 0)
      expect_the_icon(peaks);
    else
      EXPECT_EQ(peaks.size(), 2U);
  }
}

/// The threshold may change while frames flow.
TEST_P(ConfirmPosesTest, Adopted) {
  const Icons icons(77);
  const Bytes frame = icons.frame<std::uint8_t>(), pattern = icons.icon.pattern();
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView templ = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
  for (const auto& [threshold, count] :
       {std::pair(0.0, 2U), std::pair(between, 1U), std::pair(90.0, 2U), std::pair(0.0, 2U)}) {
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings_of(threshold)).ok());
    std::vector<Peak> peaks;
    ASSERT_TRUE(matcher.enqueue(frame.view()).ok());
    ASSERT_TRUE(matcher.collect(peaks).ok());
    EXPECT_EQ(peaks.size(), count) << threshold;
  }
}

/// A part at the border, of which a row may stick out, is compared inside the frame.
TEST_P(ConfirmPosesTest, AtTheBorder) {
  Scene scene;
  scene.poses = {{23.3, 19.2, 0, 1}};
  MatchSettings settings = settings_of(between);
  settings.poses.angle_start = -10;
  settings.poses.angle_extent = 20;
  EXPECT_EQ(match(scene.frame({150, 90}), scene.pattern(), settings).size(), 1U);
}

}  // namespace
}  // namespace api
