// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What looks like a target is not taken for it.
#include "session.hpp"

namespace xcorr::follow {
namespace {

/// The target is hidden; what matches somewhat, far from where it is expected, is not reported.
TEST(NotMistaken, AnUnsurePlaceIsNotReported) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100), peak(150, 100, 0.55)});
  for (int i = 0; i < 10; ++i) {
    run.see({peak(150, 100, 0.55)});
    ASSERT_TRUE(run.only().lost) << i;
    EXPECT_EQ(run.only().confidence, 0);
    expect_at(run.only(), 100, 100);
  }
  EXPECT_EQ(run.only().state, TrackState::lost);
}

TEST(NotMistaken, EverythingIsReportedWithoutALeastConfidence) {
  Session run;
  run.rules.settings.min_confidence = 0;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100)});
  run.see({peak(150, 100, 0.51)});
  EXPECT_FALSE(run.only().lost);
  expect_at(run.only(), 150, 100);
  EXPECT_GT(run.only().confidence, 0);
  EXPECT_LT(run.only().confidence, 0.5);
}

/// Something better in the same window, but far from where the target is expected.
TEST(NotMistaken, ABetterPeakThatAppearsFarFromItIsNotTaken) {
  Session run;
  for (int i = 0; i < 30; ++i) {
    std::vector<Peak> peaks{peak(100 + 3.0 * i, 100, 0.85)};
    if (i >= 10) peaks.push_back(peak(160 + 3.0 * i, 110, 0.9));
    run.see(peaks);
    ASSERT_FALSE(run.only().lost);
    expect_at(run.only(), 100 + 3.0 * i, 100);
  }
}

/// A target that was mistaken for something else comes back into view.
TEST(NotMistaken, MovesToAClearlyBetterPlaceThatStays) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100, 0.7)});
  for (int i = 0; i < 3; ++i) {
    run.see({peak(100, 100, 0.7), peak(900, 500 + 4.0 * i, 0.95)});
    expect_at(run.only(), i < 2 ? 100 : 900, i < 2 ? 100 : 508);
  }
  EXPECT_EQ(run.only().id, 1);
  run.see({peak(100, 100, 0.7), peak(900, 512, 0.95)});
  expect_at(run.only(), 900, 512);
}

TEST(NotMistaken, NoMoveToAPlaceThatIsHardlyBetterOrGone) {
  Session run;
  for (int i = 0; i < 40; ++i) {
    std::vector<Peak> peaks{peak(100, 100, 0.8)};
    if (i >= 10) peaks.push_back(peak(900, 500, 0.87));
    if (i % 2) peaks.push_back(peak(500, 700, 0.99));
    run.see(peaks);
    expect_at(run.only(), 100, 100);
  }
}

/// Its like, seen beside it all the time, on its own way; then the target is hidden.
TEST(NotMistaken, AnotherOneIsRemembered) {
  Session run;
  const auto other = [&] { return peak(300 + 2.0 * run.frame, 400, 0.9); };
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100), other()});
  for (int i = 0; i < 30; ++i) {
    run.see({other()});
    ASSERT_TRUE(run.only().lost) << i;
  }
  EXPECT_EQ(run.only().state, TrackState::lost);
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100), other()});
  EXPECT_FALSE(run.only().lost);
  expect_at(run.only(), 100, 100);
}

/// That is not for ever: the target may come back where another one was.
TEST(NotMistaken, AnotherOneThatIsGoneIsForgotten) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100), peak(300, 400, 0.9)});
  run.see_nothing(100);
  for (int i = 0; i < 3; ++i) run.see({peak(300, 400)});
  EXPECT_FALSE(run.only().lost);
}

/// When there is room for it, it is a target itself.
TEST(NotMistaken, AnotherOneCanBecomeATarget) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100), peak(300, 400, 0.9)});
  run.rules.max_targets = 2;
  run.see({peak(100, 100), peak(300, 400, 0.9)});
  EXPECT_EQ(run.count(), 2);
}

}  // namespace
}  // namespace xcorr::follow
