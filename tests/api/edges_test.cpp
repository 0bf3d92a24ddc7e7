// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matches on edges: scores against their definition in plain loops, what has changed or is hidden,
// and what cannot be compared so.
#include <functional>

#include <xcorr/window_matcher.hpp>

#include "cluttered.hpp"
#include "match/edges.hpp"
#include "posed_scene.hpp"

namespace api {
namespace {

using Change = std::function<double(double value, int x, int y)>;

void paste(Bytes& frame, const Bytes& part, int left, int top, const Change& change) {
  for (int y = 0; y < part.size.height; ++y)
    for (int x = 0; x < part.size.width; ++x)
      frame.at(left + x, top + y) =
          static_cast<std::uint8_t>(std::clamp(std::lround(change(part.at(x, y), x, y)), 0L, 255L));
}

double unchanged(double value, int, int) { return value; }

MatchSettings on_edges() {
  MatchSettings settings;
  settings.match_on = MatchOn::edges;
  settings.threshold = 0.2;
  return settings;
}

class EdgesTest : public PosedTest {
 protected:
  static constexpr Size part{64, 64};
  const Bytes pattern = cluttered(part, 1);

  std::vector<Peak> find(const Bytes& frame, const MatchSettings& settings = on_edges(),
                         const Bytes* mask = nullptr) {
    return match(device, frame, pattern, settings, mask);
  }
  /// The best of a frame with the part at (57, 41), changed.
  Peak find_changed(const Change& change, const MatchSettings& settings = on_edges()) {
    Bytes frame = cluttered({140, 110}, 2);
    paste(frame, pattern, 57, 41, change);
    const auto peaks = find(frame, settings);
    EXPECT_EQ(peaks.size(), 1U);
    return peaks.empty() ? Peak{} : peaks[0];
  }
  static void expect_there(const Peak& peak, double least, double most = 1, double pixels = 0.3) {
    EXPECT_NEAR(peak.x, 57, pixels);
    EXPECT_NEAR(peak.y, 41, pixels);
    EXPECT_GE(peak.score, least);
    EXPECT_LE(peak.score, most);
    EXPECT_EQ(peak.similarity, peak.score);
  }
  Status prepare(const MatrixView& view, const MatchSettings& settings, ElementType type) {
    Matcher matcher = std::move(Matcher::create(device).value());
    EXPECT_TRUE(matcher.set_templates({&view, 1}).ok());
    return matcher.prepare(type, {200, 150}, settings);
  }
};

/// A gradient in double precision, in gray levels a pixel.
struct Vector {
  double x, y;

  Vector(const Bytes& image, int left, int top) : x(0), y(0) {
    constexpr double smooth[] = {1, 4, 6, 4, 1}, slope[] = {-1, -2, 0, 2, 1};
    for (int j = 0; j < 5; ++j)
      for (int i = 0; i < 5; ++i) {
        const int u = std::clamp(left + i - 2, 0, image.size.width - 1);
        const int v = std::clamp(top + j - 2, 0, image.size.height - 1);
        x += slope[i] * smooth[j] * image.at(u, v) / 128;
        y += smooth[i] * slope[j] * image.at(u, v) / 128;
      }
  }
  double square() const { return x * x + y * y; }
  /// The cosine of the angle to another, or of twice that.
  double cosine(const Vector& other, bool twice) const {
    const double c = (x * other.x + y * other.y) / std::sqrt(square() * other.square());
    return twice ? 2 * c * c - 1 : c;
  }
};

/// Not shorter than its two neighbours across the edge, of the eight.
bool is_ridge(const Bytes& image, int left, int top, double contrast) {
  const Vector here(image, left, top);
  const double across = std::abs(here.x), down = std::abs(here.y);
  const int dx = 5 * across < 2 * down ? 0 : here.x < 0 ? -1 : 1;
  const int dy = 5 * down < 2 * across ? 0 : here.y < 0 ? -1 : 1;
  return here.square() >= contrast * contrast &&
         here.square() >= Vector(image, left + dx, top + dy).square() &&
         here.square() >= Vector(image, left - dx, top - dy).square();
}

/// Of each pixel whether it is an edge: beside a ridge or on it.
Bytes edges_of(const Bytes& image, double contrast) {
  Bytes edges(image.size);
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      edges.at(x, y) = Vector(image, x, y).square() >= contrast * contrast &&
                       (is_ridge(image, x, y, contrast) || is_ridge(image, x - 1, y, contrast) ||
                        is_ridge(image, x + 1, y, contrast) ||
                        is_ridge(image, x, y - 1, contrast) || is_ridge(image, x, y + 1, contrast));
  return edges;
}

TEST_P(EdgesTest, ScoresAreTheDefinition) {
  const Bytes frame = cluttered({97, 81}, 3), small = cluttered({23, 19}, 4);
  const double contrast = on_edges().edge_contrast;
  const Bytes small_edges = edges_of(small, contrast), frame_edges = edges_of(frame, contrast / 2);
  const Bytes all(small.size, 1);
  const Scene round{.part = small.size, .round = true, .poses = {}};
  const Bytes disc = round.disc();
  for (const Bytes* mask : {&all, &disc})
    for (const Polarity polarity : {Polarity::same, Polarity::inverted, Polarity::either}) {
      MatchSettings settings = on_edges();
      settings.polarity = polarity;
      Matcher matcher = std::move(Matcher::create(device).value());
      const MatrixView view = small.view(), mask_view = mask->view();
      ASSERT_TRUE(matcher.set_templates({&view, 1}, {&mask_view, 1}).ok());
      const Status prepared = matcher.prepare(ElementType::u8, frame.size, settings);
      ASSERT_TRUE(prepared.ok()) << prepared.message();
      Image<float> scores({75, 63});
      ASSERT_TRUE(matcher.score(frame.view(), 0, {scores.data.data(), 75 * 4}).ok());
      const bool twice = polarity == Polarity::either;
      for (int y = 0; y < 63; y += 4)
        for (int x = 0; x < 75; x += 3) {
          double sum = 0, count = 0;
          for (int j = 4; j < 15; ++j)
            for (int i = 4; i < 19; ++i) {
              bool counts = small_edges.at(i, j) != 0;
              for (int k = 0; k < 81; ++k) counts &= mask->at(i + k % 9 - 4, j + k / 9 - 4) != 0;
              if (!counts) continue;
              count += 1;
              if (frame_edges.at(x + i, y + j))
                sum += Vector(small, i, j).cosine(Vector(frame, x + i, y + j), twice);
            }
          ASSERT_GT(count, 16);
          const double sign = polarity == Polarity::inverted ? -1 : 1;
          // Vectors are of seven bits.
          ASSERT_NEAR(scores.at(x, y), sign * sum / count, 0.02) << x << ", " << y;
        }
    }
}

/// A copy scores exactly 1, wherever it is, and with any brightness and contrast about that.
TEST_P(EdgesTest, BrightnessAndContrast) {
  Bytes frame = cluttered({140, 110}, 2);
  paste(frame, pattern, 76, 46, unchanged);  // in the corner
  const auto copies = find(frame);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].score, 1);
  EXPECT_EQ(copies[0].x, 76);
  EXPECT_EQ(copies[0].y, 46);
  expect_there(find_changed(unchanged), 1);
  const auto faint = [](double v, int, int) { return 90 + v / 3; };
  expect_there(find_changed(faint), 0.6);
  MatchSettings settings = on_edges();
  settings.edge_contrast = 1;
  expect_there(find_changed(faint, settings), 0.8);
  expect_there(find_changed([](double v, int x, int) { return v * (1 + 3 * x / 63.0) / 4; }), 0.85);
}

/// The score is about the share that is visible.
TEST_P(EdgesTest, Hidden) {
  const Bytes other = cluttered(part, 5);
  for (const int percent : {30, 50, 60}) {
    const auto hide = [&](double v, int x, int y) {
      return y < 64 * percent / 100 ? other.at(x, y) : v;
    };
    const double visible = 1 - percent / 100.0;
    expect_there(find_changed(hide), visible - 0.12, visible + 0.12, 0.75);
  }
}

TEST_P(EdgesTest, Inverted) {
  const auto invert = [](double v, int, int) { return 255 - v; };
  MatchSettings settings = on_edges();
  settings.threshold = -1;
  EXPECT_GT(std::abs(find_changed(invert, settings).x - 57), 2);
  settings.polarity = Polarity::inverted;
  expect_there(find_changed(invert, settings), 1);
  EXPECT_TRUE(find_changed(invert, settings).inverted);
  settings.polarity = Polarity::either;
  expect_there(find_changed(invert, settings), 1);
  expect_there(find_changed(unchanged, settings), 1);
  // Half of it, as where a button is dark and its surroundings stay.
  expect_there(find_changed([](double v, int x, int) { return x < 32 ? 255 - v : v; }, settings),
               0.7);
  EXPECT_FALSE(find_changed(unchanged, settings).inverted);
}

/// Whichever kernel, in part of a frame as in the whole, from any layout; smoothed, too.
/// Also what does not count lies inside the frame.
TEST_P(EdgesTest, MarginsLieInside) {
  Bytes mask(part);
  for (int y = 12; y < 52; ++y)
    for (int x = 12; x < 52; ++x) mask.at(x, y) = 1;
  Bytes frame = cluttered({140, 110}, 2);
  paste(frame, pattern, 57, 41, unchanged);
  MatchSettings settings = on_edges();
  settings.max_peaks = 10;
  const auto peaks = find(frame, settings, &mask);
  ASSERT_FALSE(peaks.empty());
  expect_there(peaks[0], 1);
  for (const Peak& peak : peaks) {
    EXPECT_GE(std::min(peak.x, peak.y), 0);
    EXPECT_LE(peak.x + part.width, 140);
    EXPECT_LE(peak.y + part.height, 110);
  }
}

/// A cross of one colour on transparency has the outline of its mask, up to the template's border.
TEST_P(EdgesTest, GlyphsOfOneColor) {
  constexpr Size size{25, 25};
  Bytes mask(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      mask.at(x, y) = std::abs(x - 12) < 4 || std::abs(y - 12) < 4;
  for (const int ink : {235, 20}) {
    const Bytes glyph(size, static_cast<std::uint8_t>(ink));
    // On grounds of two colours, one faint.
    Bytes frame({160, 80}, static_cast<std::uint8_t>(ink < 128 ? 90 : 160));
    for (int y = 0; y < 80; ++y)
      for (int x = 80; x < 160; ++x) frame.at(x, y) = 128;
    for (const int left : {21, 107})
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          if (mask.at(x, y)) frame.at(left + x, 30 + y) = glyph.at(x, y);
    for (const Polarity polarity : {Polarity::same, Polarity::either}) {
      MatchSettings settings = on_edges();
      settings.max_peaks = 2;
      settings.threshold = 0.8;
      settings.polarity = polarity;
      auto peaks = match(device, frame, glyph, settings, &mask);
      ASSERT_EQ(peaks.size(), 2U) << ink;
      std::ranges::sort(peaks, {}, &Peak::x);
      for (int i = 0; i < 2; ++i) {
        EXPECT_NEAR(peaks[i].x, i ? 107 : 21, 0.2);
        EXPECT_NEAR(peaks[i].y, 30, 0.2);
        EXPECT_GT(peaks[i].score, 0.95);
      }
    }
    MatchSettings wrong = on_edges();
    wrong.polarity = Polarity::inverted;
    wrong.threshold = 0.8;
    EXPECT_TRUE(match(device, frame, glyph, wrong, &mask).empty());
  }
}

TEST_P(EdgesTest, KernelsAndRegionsAgree) {
  Bytes frame = cluttered({140, 110}, 2);
  paste(frame, pattern, 57, 41, unchanged);
  MatchSettings settings = on_edges();
  settings.kernel = GetParam() == Backend::cpu ? "direct" : "overlap_wise";
  settings.max_peaks = 4;
  const auto expected = find(frame, settings);
  settings.kernel = GetParam() == Backend::cpu ? "fft" : "auto";
  const auto got = find(frame, settings);
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(expected[i].score, got[i].score);
  settings.search_region = {53, 39, 71, 69};
  const auto part_of = find(frame, settings);
  ASSERT_EQ(part_of.size(), 1U);
  EXPECT_EQ(part_of[0].score, 1);
  EXPECT_EQ(part_of[0].x, expected[0].x);
  settings.prefilter_sigma = 1;
  const auto smoothed = find(frame, settings);
  ASSERT_EQ(smoothed.size(), 1U);
  EXPECT_GT(smoothed[0].score, 0.95);
}

TEST_P(EdgesTest, PlacesBetweenPixels) {
  Scene scene{.part = {60, 52}, .poses = {{60.3, 50.7}}};
  scene.inside = [](double x, double y) {
    return std::hypot(x, y) < 17 ? 200 : std::abs(x) < 22 && std::abs(y) < 18 ? 60 : 120;
  };
  MatchSettings settings = on_edges();
  settings.threshold = 0.7;
  const auto peaks = match(device, scene.frame({120, 100}), scene.pattern(), settings);
  expect_parts(peaks, scene, 0.2, 0.1, 0.7);
}

/// What learns is compared as it is, and search windows compare edges.
TEST_P(EdgesTest, LiveTemplatesAndWindows) {
  Bytes frame = cluttered({140, 110}, 2);
  paste(frame, pattern, 57, 41, unchanged);
  const Bytes first = cluttered(part, 9);
  auto live = LiveTemplate::create(device, first.view());
  ASSERT_TRUE(live.ok()) << live.status().message();
  WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
  const std::shared_ptr<const LiveTemplate> shared = live.value();
  ASSERT_TRUE(matcher.set_templates({&shared, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, on_edges()).ok());
  const SearchWindow windows[] = {{0, {40, 30, 100, 80}}};
  std::vector<std::vector<Peak>> found;
  const auto search = [&] {
    const Status status = matcher.enqueue(frame.view(), windows);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(matcher.collect(found).ok());
    ASSERT_EQ(found.size(), 1U);
  };
  search();
  for (const Peak& peak : found[0]) EXPECT_LT(peak.score, 0.5);
  ASSERT_TRUE(live.value()->blend(frame.view(), 57, 41, 1).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  search();
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].score, 1);
  EXPECT_NEAR(found[0][0].x, 57, 0.1);
}

/// Those of noise are none.
TEST_P(EdgesTest, WeakerOnesWhereThereAreFew) {
  const auto contrast_of = [&](double contrast, double noise) {
    const Scene scene{.part = {160, 160},
                      .inside = [&, smooth = Texture(7, 70, 140)](double x, double y) {
                        return 128 + contrast * (smooth(x, y) - 128);
                      }};
    Bytes picture = scene.pattern();
    std::mt19937 random(3);
    for (std::uint8_t& pixel : picture.data)
      pixel = static_cast<std::uint8_t>(pixel + std::lround(noise * (random() / 2147483648.0 - 1)));
    const MatrixView view = picture.view();
    const auto bank = make_bank(std::span(&view, 1));
    const auto edges = EdgeTemplate::make(device, bank.value()[0], on_edges(), Stream{});
    EXPECT_TRUE(edges.ok()) << edges.status().message();
    return std::sqrt(edges.value()->rule().least) / edge_unit;
  };
  EXPECT_EQ(contrast_of(1, 0), 1.5);
  EXPECT_EQ(contrast_of(0.24, 0), 1);
  EXPECT_EQ(contrast_of(0.15, 0), 0.75);
  EXPECT_EQ(contrast_of(0.24, 4), 1.5);
}

TEST_P(EdgesTest, Refused) {
  MatchSettings settings = on_edges();
  EXPECT_EQ(
      prepare(Bytes({20, 20}, 7).view(), settings, ElementType::u8).message(),
      "template 0 has too few edges, 0 pixels: gradients of at least 0.75 gray levels a pixel "
      "count, 4 pixels or more from its border and its mask's");
  EXPECT_EQ(prepare(Image<float>({20, 20}).view(), settings, ElementType::f32).message(),
            "edges are those of frames of u8, not of f32");
  settings.min_contrast = 1;
  EXPECT_EQ(prepare(pattern.view(), settings, ElementType::u8).message(),
            "min_contrast is of luma and colour: edges have edge_contrast");
  settings = on_edges();
  settings.edge_contrast = 0;
  EXPECT_EQ(prepare(pattern.view(), settings, ElementType::u8).message(),
            "edge_contrast must be in (0, 64]");
  settings = all_round(5);
  settings.match_on = MatchOn::edges;
  EXPECT_EQ(prepare(pattern.view(), settings, ElementType::u8).message(), "");
  settings.poses.angle_start = -1;
  EXPECT_NE(prepare(Bytes({64, 64}, 9).view(), settings, ElementType::u8)
                .message()
                .find("too few edges, 0 pixels"),
            std::string::npos);
  settings = on_edges();
  settings.method = Method::orientation;
  EXPECT_EQ(prepare(pattern.view(), settings, ElementType::u8).message(), "no such method");
}

INSTANTIATE_TEST_SUITE_P(Backends, EdgesTest, testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& info) { return xcorr::name_of(info.param); });

}  // namespace
}  // namespace api
