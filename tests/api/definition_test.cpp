// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The six methods of the oracle and of score.hpp against numbers computed with numpy.
#include "definition.hpp"
#include "stages/match/score.hpp"

namespace api {
namespace {

struct Expected {
  Method method;
  double bytes, floats;
};

constexpr Expected expected[] = {
    {Method::sqdiff, 2147.0, 11.25},
    {Method::sqdiff_normed, 0.01956843290122265, 0.529420924316681},
    {Method::ccorr, 108750.0, 15.625},
    {Method::ccorr_normed, 0.9911816851457677, 0.7353068393287236},
    {Method::ccoeff, 49050.0, 11.958333333333336},
    {Method::ccoeff_normed, 0.9837489924617079, 0.6893901499613964},
};

const Image<std::uint8_t> bytes_f({3, 2}, {12, 200, 37, 90, 255, 3});
const Image<std::uint8_t> bytes_t({3, 2}, {40, 180, 60, 70, 250, 0});
const Image<float> floats_f({3, 2}, {0.5f, -1.25f, 2.0f, 3.75f, -0.5f, 1.0f});
const Image<float> floats_t({3, 2}, {1.5f, -1.0f, 2.25f, 3.0f, 0.25f, -2.0f});

/// Through score.hpp, from sums.
template <class Sum, class T>
double score_from_sums(Method method, const Image<T>& f, const Image<T>& t) {
  WindowTerms<Sum> w{static_cast<Sum>(f.size.area()), 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < f.data.size(); ++i) {
    const Sum a = f.data[i], b = t.data[i];
    w.product += a * b;
    w.left_sum += a, w.left_squares += a * a;
    w.right_sum += b, w.right_squares += b * b;
  }
  return score(method, w);
}

TEST(Definition, OracleGivesNumpysNumbers) {
  for (const Expected& e : expected) {
    EXPECT_NEAR(defined_score(e.method, bytes_f, 0, 0, bytes_t), e.bytes, 1e-15 * e.bytes);
    EXPECT_NEAR(defined_score(e.method, floats_f, 0, 0, floats_t), e.floats, 1e-14 * e.floats);
  }
}

TEST(Definition, SumsGiveTheSame) {
  for (const Expected& e : expected) {
    EXPECT_EQ(score_from_sums<std::int64_t>(e.method, bytes_f, bytes_t),
              defined_score(e.method, bytes_f, 0, 0, bytes_t));
    EXPECT_NEAR(score_from_sums<double>(e.method, floats_f, floats_t), e.floats, 1e-14 * e.floats);
  }
}

TEST(Definition, LargestSumsStayExact) {
  // 11.9 million pixels of 255 and one of 0 against themselves: the largest possible terms.
  constexpr std::int64_t n = 11'900'000, sum = 255 * (n - 1), squares = 255 * sum;
  const WindowTerms<std::int64_t> w{n, squares, sum, squares, sum, squares};
  EXPECT_EQ(score(Method::ccoeff_normed, w), 1.0);
  EXPECT_EQ(score(Method::ccorr_normed, w), 1.0);
  EXPECT_EQ(score(Method::sqdiff_normed, w), 0.0);
  // n^2 times the variance of one deviating pixel is 255^2 (n - 1).
  EXPECT_EQ(n2_covariance(n, squares, sum, sum), 255 * 255 * (n - 1));
}

}  // namespace
}  // namespace api
