// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Places to a fraction of a pixel. A smooth texture of slanted waves, shifted by tenths of a pixel
// along x, y and both, is found within a tenth of a pixel by the quadratic, where a parabola along
// each axis is off by up to four tenths; by least squares within a hundredth. These also find fine
// textures shifted by quarters of a pixel, and are not misled by what surrounds a copy. In u16 and
// f32 they find what they find in u8.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

/// Values of T a gray level.
template <class T>
constexpr int level = sizeof(T) == 2 ? 256 : 1;

template <class T>
T rounded(double value) {
  return std::is_floating_point_v<T> ? static_cast<T>(value) : static_cast<T>(std::lround(value));
}

/// Waves of at least ten pixels, between 30 and 226, most of them slanted the same way: a shift
/// along x looks in part like one along y.
double texture(double x, double y) {
  return 128 + 40 * std::sin(0.35 * x - 0.42 * y + 0.3) + 35 * std::sin(0.52 * x - 0.27 * y + 1.1) +
         20 * std::sin(0.4 * x + 0.38 * y + 2);
}

template <class T>
Image<T> sampled(Size size, double x0, double y0) {
  Image<T> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      image.at(x, y) = rounded<T>(texture(x - x0, y - y0) * level<T>);
  return image;
}

/// A texture of squares of 4 pixels, their means over pixels of a frame: shifts of whole fine
/// pixels are shifts by quarters, and no interpolation is involved.
template <class T>
Image<T> in_quarters(const Bytes& fine, int x0, int y0) {
  Image<T> image({fine.size.width / 4 - 1, fine.size.height / 4 - 1});
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += fine.at(4 * x + x0 + i % 4, 4 * y + y0 + i / 4);
      image.at(x, y) = rounded<T>(level<T> * sum / 16.0);
    }
  return image;
}

/// Rectangles over one another, as the edges of photographs.
Bytes rectangles(Size size, int count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes image(size, 128);
  const auto below = [&](int limit) { return static_cast<int>(random() % unsigned(limit)); };
  for (int i = 0; i < count; ++i) {
    const int x0 = below(size.width), y0 = below(size.height);
    const int x1 = std::min(size.width, x0 + 4 + below(40)),
              y1 = std::min(size.height, y0 + 4 + below(40));
    const auto gray = static_cast<std::uint8_t>(20 + below(216));
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x) image.at(x, y) = gray;
  }
  return image;
}

/// `sigma`: in gray levels.
template <class T>
void add_noise(Image<T>& image, double sigma, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, sigma * level<T>);
  for (T& pixel : image.data)
    pixel = rounded<T>(std::clamp(pixel + noise(random), 0.0, 255.0 * level<T>));
}

/// Pixels times `gain` plus `offset`, as T.
template <class T>
Image<T> converted(const Bytes& image, double gain, double offset) {
  Image<T> made(image.size);
  for (std::size_t i = 0; i < image.data.size(); ++i)
    made.data[i] = rounded<T>(image.data[i] * gain + offset);
  return made;
}

/// Ones where pixels lie near the middle of 25 x 25.
Bytes disc_of_25() {
  Bytes mask({25, 25});
  for (int y = 0; y < 25; ++y)
    for (int x = 0; x < 25; ++x) mask.at(x, y) = std::hypot(x - 12, y - 12) <= 11;
  return mask;
}

class SubpixelTest : public TargetTest {
 protected:
  /// Of the peaks in noise the closer half.
  template <class T>
  void expect_the_close_ones_placed(Method method, Polarity polarity, Subpixel subpixel) {
    const auto frame = random_image<T>({90, 80}, 5), pattern = random_image<T>({11, 9}, 6);
    MatchSettings s = settings(method);
    s.polarity = polarity;
    s.threshold = -1;
    s.max_peaks = 40;
    s.min_peak_distance = 4;
    const auto whole = match(device, pattern, frame, s);
    s.subpixel = subpixel;
    const auto placed = match(device, pattern, frame, s);
    ASSERT_EQ(placed.size(), whole.size());
    ASSERT_GT(placed.size(), 20u);
    s.subpixel_threshold = std::clamp(placed[placed.size() / 2].similarity, -1.0, 1.0);
    const auto got = match(device, pattern, frame, s);
    ASSERT_EQ(got.size(), placed.size());
    std::size_t close = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool is_close = placed[i].similarity >= s.subpixel_threshold;
      close += is_close;
      const Peak& expected = is_close ? placed[i] : whole[i];
      EXPECT_EQ(std::tie(got[i].x, got[i].y, got[i].score),
                std::tie(expected.x, expected.y, expected.score))
          << info(method).name << ", peak " << i;
    }
    EXPECT_GT(close, 0u);
    EXPECT_LT(close, got.size());
  }

  template <class T>
  void expect_places(Method method, Subpixel subpixel, double bound) {
    MatchSettings s = settings(method);
    s.subpixel = subpixel;
    // The pattern is the texture around its origin, which lies at (x, y) in the frame.
    const auto pattern = sampled<T>({25, 21}, 0, 0);
    for (const auto& [along_x, along_y] :
         {std::pair{0.1, 0.0}, {0.0, 0.1}, {0.1, 0.1}, {0.1, -0.1}})
      for (int step = -5; step <= 5; ++step) {
        const double x = 6 + along_x * step, y = 5 + along_y * step;
        const auto peaks = match(device, pattern, sampled<T>({37, 31}, x, y), s);
        ASSERT_EQ(peaks.size(), 1u) << x << ' ' << y;
        EXPECT_NEAR(peaks[0].x, x, bound) << y;
        EXPECT_NEAR(peaks[0].y, y, bound) << x;
      }
  }

  template <class T>
  void expect_quarters() {
    const Bytes fine = rectangles({400, 360}, 400, 7);
    const Image<T> whole = in_quarters<T>(fine, 0, 0);
    const Rect part{30, 28, 32, 30};
    std::array<double, 2> errors{};
    int count = 0;
    for (int shift = 0; shift < 16; ++shift) {
      const int x = shift % 4, y = shift / 4;
      Image<T> frame = in_quarters<T>(fine, x, y);
      add_noise(frame, 2, static_cast<unsigned>(shift));
      for (std::size_t i = 0; i < errors.size(); ++i) {
        MatchSettings s = settings();
        s.subpixel = i ? Subpixel::quadratic : Subpixel::least_squares;
        const auto peaks = match(device, crop(whole, part), frame, s);
        ASSERT_EQ(peaks.size(), 1u);
        errors[i] += std::hypot(peaks[0].x - (part.x - 0.25 * x), peaks[0].y - (part.y - 0.25 * y));
      }
      ++count;
    }
    EXPECT_LT(errors[0] / count, 0.03);
    EXPECT_LT(errors[0], 0.5 * errors[1]);  // what the quadratic does
  }

  template <class T>
  std::vector<Peak> match_masked(const Image<T>& pattern, const Bytes& mask, const Image<T>& frame,
                                 const MatchSettings& s) {
    const MatrixView view = pattern.view(), mask_view = mask.view();
    return api::match_masked(device, {&view, 1}, {&mask_view, 1}, frame, s, false);
  }

  template <class T>
  void expect_masked_ones_left_out() {
    Image<T> frame = sampled<T>({45, 41}, 8.3, 6.6);
    for (int y = 0; y < 41; ++y)
      for (int x = 0; x < 45; ++x)
        if (std::hypot(x - 20.3, y - 18.6) > 12.5)
          frame.at(x, y) = static_cast<T>(((3 * x + y) % 5 < 2 ? 250 : 10) * level<T>);
    MatchSettings s = settings();
    s.subpixel = Subpixel::least_squares;
    const auto peaks = match_masked(sampled<T>({25, 25}, 0, 0), disc_of_25(), frame, s);
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_NEAR(peaks[0].x, 8.3, 0.02);
    EXPECT_NEAR(peaks[0].y, 6.6, 0.02);
  }

  /// With the frame and the template of noise converted() to T, each contrast and a mask.
  template <class T>
  void expect_places_as_of_bytes(double gain, double offset) {
    const auto frame = random_image<std::uint8_t>({120, 100}, 3);
    const auto pattern = random_image<std::uint8_t>({25, 25}, 4);
    for (const Polarity polarity : {Polarity::same, Polarity::inverted, Polarity::either})
      for (const Bytes& mask : {disc_of_25(), Bytes({25, 25}, 1)}) {
        MatchSettings s;
        s.polarity = polarity;
        s.threshold = -1;
        s.max_peaks = 40;
        s.min_peak_distance = 6;
        const auto expected = match_masked(pattern, mask, frame, s);
        s.kernel = kernel();
        const auto got = match_masked(converted<T>(pattern, gain, offset), mask,
                                      converted<T>(frame, gain, offset), s);
        ASSERT_EQ(got.size(), expected.size());
        ASSERT_GT(got.size(), 20u);
        const auto is_expected = [&](const Peak& peak) {
          return std::ranges::any_of(expected, [&](const Peak& other) {
            return std::abs(peak.x - other.x) < 1e-3 && std::abs(peak.y - other.y) < 1e-3;
          });
        };
        // Of scores in single precision two that are nearly equal may change their order, which
        // decides what suppresses what.
        const int others = std::is_floating_point_v<T> ? 2 : 0;
        EXPECT_GE(std::ranges::count_if(got, is_expected) + others, int(got.size()));
      }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, SubpixelTest, testing::ValuesIn(targets()), name_of);

TEST_P(SubpixelTest, PlacesOfBytes) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff}) {
    expect_places<std::uint8_t>(method, Subpixel::quadratic, 0.1);
    expect_places<std::uint8_t>(method, Subpixel::least_squares, 0.01);
  }
}

TEST_P(SubpixelTest, PlacesOfWords) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff}) {
    expect_places<std::uint16_t>(method, Subpixel::quadratic, 0.1);
    expect_places<std::uint16_t>(method, Subpixel::least_squares, 0.01);
  }
}

TEST_P(SubpixelTest, PlacesOfFloats) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff}) {
    expect_places<float>(method, Subpixel::quadratic, 0.1);
    expect_places<float>(method, Subpixel::least_squares, 0.01);
  }
}

TEST_P(SubpixelTest, QuartersOfAPixel) { expect_quarters<std::uint8_t>(); }
TEST_P(SubpixelTest, QuartersOfAPixelInWords) { expect_quarters<std::uint16_t>(); }
TEST_P(SubpixelTest, QuartersOfAPixelInFloats) { expect_quarters<float>(); }

TEST_P(SubpixelTest, WordsAsBytes) {
  expect_places_as_of_bytes<std::uint16_t>(256, 0);
  expect_places_as_of_bytes<std::uint16_t>(16, 0);
  expect_places_as_of_bytes<std::uint16_t>(1, 65000);
}

/// Also with far more brightness than contrast.
TEST_P(SubpixelTest, FloatsAsBytes) {
  expect_places_as_of_bytes<float>(1, 0);
  expect_places_as_of_bytes<float>(1 / 256.0, 0);
  expect_places_as_of_bytes<float>(0.25, 20000);
}

/// Beside the copy a change that is larger than any in it: the score falls faster to one side.
TEST_P(SubpixelTest, CopyAmongStrongEdges) {
  Bytes frame = sampled<std::uint8_t>({60, 50}, 3, 4);
  const Rect part{20, 18, 13, 12};
  const Bytes pattern = crop(frame, part);
  for (int y = 0; y < frame.size.height; ++y)
    for (int x = 0; x < frame.size.width; ++x)
      if (x >= part.x + part.width || y >= part.y + part.height)
        frame.at(x, y) = (x + y) % 2 ? 255 : 0;
  MatchSettings s = settings();
  s.subpixel = Subpixel::quadratic;
  const auto misled = match(device, pattern, frame, s);
  ASSERT_EQ(misled.size(), 1u);
  EXPECT_GT(std::hypot(misled[0].x - part.x, misled[0].y - part.y), 0.3);
  s.subpixel = Subpixel::least_squares;
  const auto found = match(device, pattern, frame, s);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].x, part.x, 1e-9);
  EXPECT_NEAR(found[0].y, part.y, 1e-9);
  EXPECT_EQ(found[0].score, 1);
}

/// Along an edge that hardly bends a place is only known by the bend: steps there are short, and
/// many. The quadratic is off by three times as much.
TEST_P(SubpixelTest, EdgesThatHardlyBend) {
  std::mt19937 random(7);
  const auto edge = [](Size size, double x0, double y0, double radius) {
    Bytes image(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        int outside = 0;
        for (int i = 0; i < 64; ++i)
          outside +=
              std::hypot(x + (i % 8 - 3.5) / 8 - x0 + radius, y + (i / 8 - 3.5) / 8 - y0) > radius;
        image.at(x, y) = static_cast<std::uint8_t>(60 + 120 * outside / 64);
      }
    return image;
  };
  double sum = 0;
  int count = 0;
  for (const double radius : {60.0, 90.0})
    for (int i = 0; i < 6; ++i, ++count) {
      const double dx = random() % 1000 / 1000.0, dy = random() % 1000 / 1000.0;
      Bytes pattern = edge({48, 48}, 22, 28, radius);
      Bytes frame = edge({100, 96}, 22 + 25 + dx, 28 + 23 + dy, radius);
      add_noise(pattern, 3, 2 * i + 1);
      add_noise(frame, 3, 2 * i + 2);
      MatchSettings s = settings();
      s.max_peaks = 1;
      s.subpixel = Subpixel::least_squares;
      const auto peaks = match(device, pattern, frame, s);
      ASSERT_EQ(peaks.size(), 1u);
      const double error = std::hypot(peaks[0].x - 25 - dx, peaks[0].y - 23 - dy);
      EXPECT_LT(error, 0.5) << radius << " " << i;
      EXPECT_NEAR(peaks[0].x, 25 + dx, 0.1);
      sum += error;
    }
  EXPECT_LT(sum / count, 0.15);
}

/// Only the pixels of the mask that lie inside of it count: what is painted over elsewhere does not
/// move the place.
TEST_P(SubpixelTest, MaskedPixelsTakeNoPart) { expect_masked_ones_left_out<std::uint8_t>(); }
TEST_P(SubpixelTest, MaskedWordsTakeNoPart) { expect_masked_ones_left_out<std::uint16_t>(); }
TEST_P(SubpixelTest, MaskedFloatsTakeNoPart) { expect_masked_ones_left_out<float>(); }

TEST_P(SubpixelTest, OnlyCloseOnesIfAskedFor) {
  for (const Subpixel subpixel : {Subpixel::quadratic, Subpixel::least_squares})
    for (const Method method : {Method::ccoeff_normed, Method::sqdiff_normed, Method::ccorr}) {
      expect_the_close_ones_placed<std::uint8_t>(method, Polarity::same, subpixel);
      expect_the_close_ones_placed<float>(method, Polarity::same, subpixel);
    }
  expect_the_close_ones_placed<std::uint8_t>(Method::ccoeff_normed, Polarity::inverted,
                                             Subpixel::least_squares);
  expect_the_close_ones_placed<std::uint8_t>(Method::ccoeff, Polarity::either,
                                             Subpixel::least_squares);
}

/// Whatever the images, a place stays within a pixel of where the score is the peak's.
TEST_P(SubpixelTest, NeverFartherThanAPixel) {
  const auto frame = random_image<std::uint8_t>({90, 80}, 3);
  const auto pattern = random_image<std::uint8_t>({11, 9}, 4);
  MatchSettings s = settings();
  s.threshold = -1;
  s.max_peaks = 100;
  s.min_peak_distance = 3;
  const auto whole = match(device, pattern, frame, s);
  s.subpixel = Subpixel::least_squares;
  const auto peaks = match(device, pattern, frame, s);
  ASSERT_EQ(peaks.size(), whole.size());
  ASSERT_GT(peaks.size(), 50u);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    EXPECT_LE(std::abs(peaks[i].x - whole[i].x), 1);
    EXPECT_LE(std::abs(peaks[i].y - whole[i].y), 1);
  }
}

}  // namespace
}  // namespace api
