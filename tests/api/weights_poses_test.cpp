// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks of weights at any pose: a logo with soft alpha, drawn turned over a busy ground, scores by
// weights as it does upright, more than by any mask; what is all alike, hard or upright, as before.
#include <xcorr/window_matcher.hpp>

#include "planes.hpp"
#include "posed_scene.hpp"

namespace api {
namespace {

constexpr Size logo_size{48, 44}, frame_size{180, 130};

/// Of a logo round its centre: 1 in the middle, then down to 0 within seven pixels.
double alpha(double u, double v) { return std::clamp(3.2 - std::hypot(u, v) / 7, 0.0, 1.0); }

struct Logo {
  Texture inside{1}, ground{2, 4, 11};
  std::vector<Pose> poses;

  double at(double x, double y) const {
    double value = 128 + 1.4 * (ground(x, y) - 128);
    for (const Pose& pose : poses) {
      const double dx = x - pose.center_x, dy = y - pose.center_y;
      const double c = std::cos(pose.angle * degree), s = std::sin(pose.angle * degree);
      const double u = (c * dx - s * dy) / pose.scale, v = (s * dx + c * dy) / pose.scale;
      const double share = alpha(u, v);
      value = share * inside(u, v) + (1 - share) * value;
    }
    return value;
  }
  template <class T>
  Image<T> frame(double levels) const {
    Scene scene;
    scene.outside = [this](double x, double y) { return at(x, y); };
    return scene.image<T>(frame_size, levels, 0);
  }
  /// Its own colour everywhere, as images with alpha have it.
  template <class T>
  Image<T> pattern(double levels) const {
    Scene scene;
    scene.part = logo_size;
    scene.inside = inside;
    return scene.part_image<T>(levels, 0);
  }
  static Bytes weights(int most = 255) {
    Bytes made(logo_size);
    for (int y = 0; y < logo_size.height; ++y)
      for (int x = 0; x < logo_size.width; ++x)
        made.at(x, y) = static_cast<std::uint8_t>(std::lround(
            most * alpha(x - 0.5 * (logo_size.width - 1), y - 0.5 * (logo_size.height - 1))));
    return made;
  }
};

Bytes at_least(const Bytes& weights, int least) {
  Bytes mask = weights;
  for (std::uint8_t& weight : mask.data) weight = weight >= least;
  return mask;
}

MatchSettings weighted(int max_peaks) {
  MatchSettings settings = all_round(max_peaks);
  settings.threshold = 0.6;
  settings.weights = true;
  return settings;
}

class WeightsPosesTest : public PosedTest {
 protected:
  template <class T>
  std::vector<Peak> find_in(const Image<T>& frame, const Image<T>& pattern,
                            const MatchSettings& settings, const Bytes& weights) {
    const MatrixView view = pattern.view(), mask = weights.view();
    return match_masked(device, {&view, 1}, {&mask, 1}, frame, settings, true);
  }
  static void expect_at(const std::vector<Peak>& peaks, const Pose& pose) {
    ASSERT_FALSE(peaks.empty());
    EXPECT_NEAR(peaks[0].pose.center_x, pose.center_x, 0.25);
    EXPECT_NEAR(peaks[0].pose.center_y, pose.center_y, 0.25);
    EXPECT_LT(turn_between(peaks[0].pose.angle, pose.angle), 1);
  }
};

ON_EACH_BACKEND(WeightsPosesTest);

/// What an upright search says of the upright one is said at any angle.
TEST_P(WeightsPosesTest, SoftLogosAtAnyAngle) {
  const Bytes weights = Logo::weights(), all = at_least(weights, 1);
  double upright_score = 0;
  for (const double angle : {0.0, 33.0, 146.5, 301.7}) {
    Logo logo;
    logo.poses = {{91.5, 64.5, angle, 1}};
    const Bytes frame = logo.frame<std::uint8_t>(1), pattern = logo.pattern<std::uint8_t>(1);
    if (angle == 0) {
      MatchSettings upright = weighted(1);
      upright.poses = {};
      const auto peaks = find_in(frame, pattern, upright, weights);
      ASSERT_EQ(peaks.size(), 1U);
      upright_score = peaks[0].score;
    }
    const auto by_weights = find_in(frame, pattern, weighted(1), weights);
    expect_at(by_weights, logo.poses[0]);
    EXPECT_NEAR(by_weights[0].score, upright_score, 0.02) << angle;
    MatchSettings by_mask = weighted(1);
    by_mask.weights = false;
    const auto of_all = find_in(frame, pattern, by_mask, all);
    if (!of_all.empty()) {
      EXPECT_LT(of_all[0].score, by_weights[0].score - 0.1) << angle;
    }
  }
}

/// Bit for bit where the pose is upright. What counts at least half is an exact copy, so least
/// squares lead there.
TEST_P(WeightsPosesTest, ScoresAreThoseOfUprightSearches) {
  const Bytes pattern = Logo().pattern<std::uint8_t>(1), weights = Logo::weights();
  Bytes frame = Logo().frame<std::uint8_t>(1);
  for (int y = 0; y < logo_size.height; ++y)
    for (int x = 0; x < logo_size.width; ++x)
      if (weights.at(x, y) >= 128) frame.at(57 + x, 39 + y) = pattern.at(x, y);
  for (const Method method : {Method::ccoeff_normed, Method::ccorr_normed, Method::sqdiff_normed}) {
    MatchSettings upright = weighted(1);
    upright.poses = {};
    upright.method = method;
    MatchSettings turned = upright;
    turned.poses.angle_start = -20;
    turned.poses.angle_extent = 40;
    const auto expected = find_in(frame, pattern, upright, weights),
               found = find_in(frame, pattern, turned, weights);
    ASSERT_EQ(expected.size(), 1U);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].score, expected[0].score) << info(method).name;
    EXPECT_TRUE(found[0].score != 0 && found[0].score != 1);
    EXPECT_LT(turn_between(found[0].pose.angle, 0), 0.01);
  }
}

/// Weights of 0 and one other number are a mask; so a pixel counts where all it is mixed of does.
TEST_P(WeightsPosesTest, EqualOnesAreAMask) {
  Logo logo;
  logo.poses = {{70.2, 66.1, 215, 1}};
  const Bytes frame = logo.frame<std::uint8_t>(1), pattern = logo.pattern<std::uint8_t>(1),
              mask = at_least(Logo::weights(), 200);
  Bytes hard = mask;
  for (std::uint8_t& weight : hard.data) weight *= 90;
  // Nearly: one pixel counts a little less, so they are weights.
  Bytes nearly = hard;
  nearly.at(24, 22) = 89;
  MatchSettings by_mask = weighted(1);
  by_mask.weights = false;
  const auto expected = find_in(frame, pattern, by_mask, mask),
             same = find_in(frame, pattern, weighted(1), hard),
             close = find_in(frame, pattern, weighted(1), nearly);
  ASSERT_EQ(expected.size(), 1U);
  ASSERT_EQ(same.size(), 1U);
  ASSERT_EQ(close.size(), 1U);
  EXPECT_EQ(same[0].score, expected[0].score);
  EXPECT_NEAR(close[0].score, expected[0].score, 1e-4);
  EXPECT_NE(close[0].score, expected[0].score);
}

TEST_P(WeightsPosesTest, OfOtherSizesAndTypes) {
  const Bytes weights = Logo::weights();
  const auto expect = [&]<class T>(T, double levels, double scale) {
    Logo logo;
    logo.poses = {{90.4, 62.2, 124, scale}};
    MatchSettings settings = weighted(1);
    if (scale != 1) {
      settings.poses.scale_min = 0.6;
      settings.poses.scale_max = 1.5;
    }
    const auto peaks = find_in(logo.frame<T>(levels), logo.pattern<T>(levels), settings, weights);
    expect_at(peaks, logo.poses[0]);
    EXPECT_GT(peaks[0].score, 0.75);
    EXPECT_NEAR(peaks[0].pose.scale, scale, 0.02);
  };
  expect(std::uint8_t{}, 1, 0.7);
  expect(std::uint8_t{}, 1, 1.3);
  expect(std::uint16_t{}, 200, 1);
  expect(float{}, 0.01, 1);
}

TEST_P(WeightsPosesTest, OfColor) {
  Logo logo, blue;
  logo.poses = blue.poses = {{88.6, 63.4, 57, 1}};
  blue.inside = Texture(5);
  const auto planes_of = [](const Bytes& one, const Bytes& other) {
    return Planes<std::uint8_t>{one, other, one};
  };
  const auto frame = planes_of(logo.frame<std::uint8_t>(1), blue.frame<std::uint8_t>(1)),
             pattern = planes_of(logo.pattern<std::uint8_t>(1), blue.pattern<std::uint8_t>(1));
  const Bytes weights = Logo::weights();
  const MatrixView view = planar(frame), templ = planar(pattern), mask = weights.view();
  MatchSettings settings = weighted(1);
  settings.match_on = MatchOn::color;
  Matcher matcher = std::move(Matcher::create(device).value());
  ASSERT_TRUE(matcher.set_templates({&templ, 1}, {&mask, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, view.size, settings).ok());
  std::vector<Peak> peaks;
  ASSERT_TRUE(matcher.enqueue(view).ok());
  ASSERT_TRUE(matcher.collect(peaks).ok());
  expect_at(peaks, logo.poses[0]);
  EXPECT_GT(peaks[0].score, 0.75);
}

/// Few that count far more than the others do not stand for the template.
TEST_P(WeightsPosesTest, OneHeavyPixel) {
  Bytes weights = at_least(Logo::weights(), 255);
  weights.at(20, 24) = 255;
  for (const double angle : {33.0, 146.5}) {
    Logo logo;
    logo.poses = {{91.5, 64.5, angle, 1}};
    const Bytes frame = logo.frame<std::uint8_t>(1), pattern = logo.pattern<std::uint8_t>(1);
    expect_at(find_in(frame, pattern, weighted(1), weights), logo.poses[0]);
  }
}

/// Between pixels, however small the largest weight is.
TEST_P(WeightsPosesTest, UprightPlacesOfSmallWeights) {
  Logo logo;
  logo.poses = {{91.8, 64.3, 0, 1}};
  const Bytes frame = logo.frame<std::uint8_t>(1), pattern = logo.pattern<std::uint8_t>(1);
  MatchSettings upright = weighted(1);
  upright.poses = {};
  for (const int most : {40, 255}) {
    const auto peaks = find_in(frame, pattern, upright, Logo::weights(most));
    ASSERT_EQ(peaks.size(), 1U);
    EXPECT_NEAR(peaks[0].pose.center_x, 91.8, 0.02) << most;
    EXPECT_NEAR(peaks[0].pose.center_y, 64.3, 0.02) << most;
  }
}

/// Both at once: the second look is at the heavy pixels.
TEST_P(WeightsPosesTest, Confirmed) {
  Logo logo;
  logo.poses = {{91.3, 64.6, 70, 1}};
  const Bytes frame = logo.frame<std::uint8_t>(1), pattern = logo.pattern<std::uint8_t>(1);
  MatchSettings settings = weighted(1);
  settings.confirm_threshold = 60;
  EXPECT_EQ(find_in(frame, pattern, settings, Logo::weights()).size(), 1U);
  settings.confirm_threshold = 0.05;
  EXPECT_TRUE(find_in(frame, pattern, settings, Logo::weights()).empty());
}

/// As tracks search: a window may be turned, then both are possible, and for frames of any depth.
TEST_P(WeightsPosesTest, ConfirmedInWindows) {
  Logo logo;
  logo.poses = {{91.3, 64.6, 70, 1}};
  const auto expect_found = [&](const auto& frame, const auto& pattern, double most) {
    WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
    const Bytes weights = Logo::weights();
    const MatrixView view = pattern.view(), mask = weights.view();
    ASSERT_TRUE(matcher.set_templates({&view, 1}, {&mask, 1}).ok());
    MatchSettings settings = weighted(1);
    settings.confirm_threshold = most;
    ASSERT_TRUE(matcher.prepare(frame.view().type, frame.size, settings).ok());
    SearchWindow window{0, {50, 20, 90, 90}, settings.poses};
    window.poses.vicinity = PoseVicinity{70, 15, 1, 0.1};
    std::vector<std::vector<Peak>> found;
    const Status turned = matcher.enqueue(frame.view(), {&window, 1});
    ASSERT_TRUE(turned.ok()) << turned.message();
    ASSERT_TRUE(matcher.collect(found).ok());
    expect_at(found[0], logo.poses[0]);
    window.poses = {};
    EXPECT_FALSE(matcher.enqueue(frame.view(), {&window, 1}).ok());
  };
  expect_found(logo.frame<std::uint8_t>(1), logo.pattern<std::uint8_t>(1), 60);
  expect_found(logo.frame<std::uint16_t>(200), logo.pattern<std::uint16_t>(200), 12000);
}

/// In frames whose upright templates have no weights, by the heavy pixels: best where they lie.
TEST_P(WeightsPosesTest, ScoresOfWords) {
  Logo logo;
  logo.poses = {{91.5, 64.5, 0, 1}};
  const auto frame = logo.frame<std::uint16_t>(200), pattern = logo.pattern<std::uint16_t>(200);
  const Bytes weights = Logo::weights(), heavy = at_least(weights, 128);
  const auto scores_by = [&](const Bytes& mask, const MatchSettings& settings) {
    Matcher matcher = std::move(Matcher::create(device).value());
    const MatrixView view = pattern.view(), masks = mask.view();
    EXPECT_TRUE(matcher.set_templates({&view, 1}, {&masks, 1}).ok());
    EXPECT_TRUE(matcher.prepare(ElementType::u16, frame.size, settings).ok());
    Response response;
    EXPECT_TRUE(matcher.respond(frame.view(), 0, response).ok());
    return response.values;
  };
  MatchSettings by_mask = weighted(1);
  by_mask.weights = false;
  EXPECT_EQ(scores_by(weights, weighted(1)), scores_by(heavy, by_mask));
}

}  // namespace
}  // namespace api
