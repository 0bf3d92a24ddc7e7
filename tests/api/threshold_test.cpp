// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The threshold and the similarity of peaks are one scale, to the last bit: whoever reads a
// similarity and sets it keeps that peak. And what black templates are like, by each method.
#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

class ThresholdTest : public TargetTest {
 protected:
  /// Of a frame of noise whose pixels are `step` times those of bytes, and `offset`.
  template <class T>
  void expect_one_scale(Method method, T step, T offset) {
    Image<T> frame = random_image<T>({70, 50}, 5);
    for (T& v : frame.data) v = static_cast<T>(offset + step * std::floor(double(v)));
    Image<T> pattern = crop(frame, {31, 17, 13, 9});
    pattern.at(4, 5) = static_cast<T>(pattern.at(4, 5) / 2);  // of which there is no copy
    MatchSettings s = settings(method);
    s.threshold = -1;
    s.max_peaks = 12;
    s.min_peak_distance = 1;
    for (const Peak& peak : match(device, pattern, frame, s)) {
      if (std::abs(peak.similarity) > 1) continue;
      MatchSettings least = s;
      const auto is_found = [&](double threshold) {
        least.threshold = threshold;
        const auto found = match(device, pattern, frame, least);
        return std::ranges::any_of(
            found, [&](const Peak& one) { return one.x == peak.x && one.y == peak.y; });
      };
      EXPECT_TRUE(is_found(peak.similarity)) << info(method).name << " " << peak.similarity;
      if (peak.similarity < 1)
        EXPECT_FALSE(is_found(std::nextafter(peak.similarity, 2))) << info(method).name;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, ThresholdTest, testing::ValuesIn(targets()), name_of);

TEST_P(ThresholdTest, ItsOwnSimilarityKeepsAPeak) {
  for (const MethodInfo& method : methods()) expect_one_scale<std::uint8_t>(method.method, 1, 0);
}

TEST_P(ThresholdTest, OfWords) {
  for (const MethodInfo& method : methods()) expect_one_scale<std::uint16_t>(method.method, 3, 400);
}

TEST_P(ThresholdTest, OfFloats) {
  for (const MethodInfo& method : methods()) expect_one_scale<float>(method.method, 0.3f, -20);
}

/// Whatever the template's sums are divided by.
TEST_P(ThresholdTest, CopiesReachAThresholdOfOne) {
  for (unsigned seed = 1; seed < 9; ++seed) {
    const auto frame = random_image<std::uint8_t>({48, 40}, seed);
    const Bytes pattern = crop(frame, {11, 8, int(seed) + 6, 9});
    for (const MethodInfo& method : methods()) {
      MatchSettings s = settings(method.method);
      s.threshold = 1;
      s.max_peaks = 20;
      const auto found = match(device, pattern, frame, s);
      const auto copy =
          std::ranges::find_if(found, [](const Peak& peak) { return peak.x == 11 && peak.y == 8; });
      ASSERT_NE(copy, found.end()) << method.name << ", seed " << seed;
      EXPECT_EQ(copy->similarity, 1.0) << method.name << ", seed " << seed;
    }
  }
}

/// Two black pictures are alike, where brightness is compared; a factor or contrast they have none.
TEST_P(ThresholdTest, BlackIsACopyOfBlack) {
  Bytes frame = random_image<std::uint8_t>({48, 40}, 3);
  for (std::uint8_t& v : frame.data) v = std::max<std::uint8_t>(v, 1);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 9; ++x) frame.at(20 + x, 10 + y) = 0;
  const Bytes black({9, 8});
  for (const MethodInfo& method : methods())
    for (const double threshold : {0.1, 1.0}) {
      MatchSettings s = settings(method.method);
      s.threshold = threshold;
      s.max_peaks = 3;
      const auto found = match(device, black, frame, s);
      if (!method.minimum) {
        EXPECT_TRUE(found.empty()) << method.name;
        continue;
      }
      ASSERT_EQ(found.size(), 1u) << method.name;
      EXPECT_EQ(found[0].x, 20) << method.name;
      EXPECT_EQ(found[0].y, 10) << method.name;
      EXPECT_EQ(found[0].score, 0.0) << method.name;
      EXPECT_EQ(found[0].similarity, 1.0) << method.name;
    }
}

}  // namespace
}  // namespace api
