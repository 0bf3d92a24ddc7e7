// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which vectors of a field the test between passes rejects, where the truth is known.
#include "stages/fields/validate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace api {
namespace {

using namespace xcorr;

constexpr Size grid{60, 50};

/// Of the right vectors and of the wrong ones: shares that are replaced, and that stay.
struct Judged {
  double right_replaced = 0, wrong_kept = 0;
};

/// Vortices with a quarter of a wave every `nodes` nodes, noise, and some vectors that may be
/// anything.
Judged judge(double nodes, double wrong_share) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.05F);
  std::uniform_real_distribution<float> anywhere(-16, 16), share(0, 1);
  std::vector<FieldVector> vectors;
  std::vector<bool> is_wrong;
  for (int i = 0; i < grid.area(); ++i) {
    const double x = M_PI / 2 * (i % grid.width) / nodes, y = M_PI / 2 * (i / grid.width) / nodes;
    const FieldVector right{.dx = static_cast<float>(4 * std::sin(x) * std::cos(y)),
                            .dy = static_cast<float>(-4 * std::cos(x) * std::sin(y)),
                            .score = 0.9F,
                            .ratio = 2};
    FieldVector v = right;
    v.dx += noise(random);
    v.dy += noise(random);
    if (share(random) < wrong_share) {
      v.dx = anywhere(random);
      v.dy = anywhere(random);
    }
    vectors.push_back(v);
    is_wrong.push_back(std::hypot(v.dx - right.dx, v.dy - right.dy) > 1);
  }
  Judged judged;
  int wrong = 0;
  for (int i = 0; i < grid.area(); ++i) {
    const FieldVector v =
        validated({}, vectors.data(), grid, i % grid.width, i / grid.width, nullptr);
    const bool replaced = v.status == FieldStatus::replaced;
    wrong += is_wrong[i];
    judged.right_replaced += !is_wrong[i] && replaced;
    judged.wrong_kept += is_wrong[i] && !replaced;
  }
  judged.right_replaced /= static_cast<double>(grid.area() - wrong);
  judged.wrong_kept /= std::max(wrong, 1);
  return judged;
}

/// With the median test alone one in six would be replaced.
TEST(ValidateTest, RightVectorsOfBentFieldsStay) {
  EXPECT_LT(judge(4, 0).right_replaced, 0.015);
  EXPECT_LT(judge(8, 0).right_replaced, 0.002);
}

TEST(ValidateTest, WrongVectorsAreSeen) {
  for (const double nodes : {4, 8, 1000}) {
    const Judged judged = judge(nodes, 0.05);
    EXPECT_LT(judged.wrong_kept, 0.02) << nodes;
    EXPECT_LT(judged.right_replaced, 0.03) << nodes;
  }
  EXPECT_LT(judge(8, 0.2).wrong_kept, 0.03);
}

}  // namespace
}  // namespace api
