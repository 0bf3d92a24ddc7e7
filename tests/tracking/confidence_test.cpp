// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/confidence.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace xcorr::follow {
namespace {

/// The values that docs/tracking.md gives.
TEST(Confidence, IsThatOfTheFormula) {
  EXPECT_NEAR(confidence(1, 0.5), 0.95, 0.005);
  EXPECT_NEAR(confidence(0.8, 0.5), 0.80, 0.005);
  EXPECT_NEAR(confidence(0.6, 0.5), 0.45, 0.005);
  EXPECT_NEAR(confidence(0.8, 0), 0.35, 0.005);
}

TEST(Confidence, GrowsWithSimilarityAndMargin) {
  for (double similarity = 0; similarity < 0.95; similarity += 0.1)
    for (double margin = -0.5; margin < 0.45; margin += 0.1) {
      EXPECT_LT(confidence(similarity, margin), confidence(similarity + 0.05, margin));
      EXPECT_LT(confidence(similarity, margin), confidence(similarity, margin + 0.05));
    }
}

/// The values that docs/tracking.md gives.
TEST(Resemblance, IsThatOfTheFormula) {
  FilterDetection seen;
  seen.first_response = 0.1;
  seen.color_likeness = 0.5;
  EXPECT_NEAR(resemblance(seen), 0.88, 0.005);
}

/// By what is seen now, and only where both know it.
TEST(Resemblance, IsThatOfWhatIsRecognisedNow) {
  FilterDetection seen;
  seen.first_response_here = 0.1;
  seen.color_likeness_here = 0.5;
  EXPECT_NEAR(recognition(seen), 0.88, 0.005);
  seen.color_likeness_here = 0.49;
  EXPECT_EQ(recognition(seen), 0);
  seen.color_likeness_here = 0.9;
  seen.first_response_here = 0.079;
  EXPECT_EQ(recognition(seen), 0);
}

/// The values that docs/tracking.md gives.
TEST(MostGrowth, IsThatOfTheFormula) {
  FilterDetection seen;
  seen.first_response = 0.2;
  seen.color_likeness = 0.8;
  EXPECT_NEAR(most_growth(seen), 1.70, 0.005);
  seen.first_response = 0.1;
  EXPECT_NEAR(most_growth(seen), 1.35, 0.005);
  seen.color_likeness = 0.6;
  EXPECT_NEAR(most_growth(seen), 0.90, 0.005);
  seen.first_response = -0.1;
  EXPECT_EQ(most_growth(seen), 0);
}

/// Methods that are not normed have no best score.
TEST(Confidence, HasLimits) {
  EXPECT_EQ(confidence(7, 3), confidence(1, 0.5));
  EXPECT_EQ(confidence(-7, -3), confidence(0, -0.5));
}

}  // namespace
}  // namespace xcorr::follow
