// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter's answers at three sizes say of a target: which size is chosen, where its box is,
// and when it is worth to look again.
#include <gtest/gtest.h>

#include "match/tracker/shown.hpp"

namespace api {
namespace {

using namespace xcorr;
using namespace xcorr::tracker;

constexpr Size frame{640, 480};
const Shown shown{20, 60, 200};
const Box box{100, 200, 40, 120};  // twice as large as it was shown first

struct Looked {
  Look looks[sizes];
  Answer answers[sizes];

  explicit Looked(const Box& around = box) {
    for (int size = 0; size < sizes; ++size) {
      looks[size] = shown.look_at(around, size, 3);
      answers[size] = {0, 0, 0.5, 20};
    }
  }
  Sight best() const { return shown.best_of(looks, answers, 1, frame); }
};

TEST(Shown, LooksRoundTheBoxAtThreeSizes) {
  const Looked looked;
  const double scales[] = {2, 2 / 1.02, 2 * 1.02};
  for (int size = 0; size < sizes; ++size) {
    EXPECT_EQ(looked.looks[size].x, 120);
    EXPECT_EQ(looked.looks[size].y, 260);
    EXPECT_DOUBLE_EQ(looked.looks[size].scale, scales[size]);
    EXPECT_DOUBLE_EQ(looked.looks[size].side, 200 * scales[size]);
    EXPECT_EQ(looked.looks[size].filter, 3);
  }
}

TEST(Shown, ASightIsWhereTheAnswerIs) {
  Looked looked;
  looked.answers[0] = {1.5, -2, 0.7, 25};
  const Sight sight = looked.best();
  // A cell is a fortieth of the window's side of 400 pixels.
  EXPECT_DOUBLE_EQ(sight.box.x, 100 + 15);
  EXPECT_DOUBLE_EQ(sight.box.y, 200 - 20);
  EXPECT_DOUBLE_EQ(sight.box.width, 40);
  EXPECT_DOUBLE_EQ(sight.box.height, 120);
  EXPECT_EQ(sight.response, 0.7);
  EXPECT_EQ(sight.sharpness, 25);
}

TEST(Shown, AnotherSizeHasToBeBetterByItsPrice) {
  Looked looked;
  looked.answers[1].response = 0.504;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.answers[1].response = 0.506;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
  looked.answers[2].response = 0.51;  // no better than the smaller one by its price
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
  looked.answers[2].response = 0.6;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 * 1.02);
}

TEST(Shown, OtherSizesDoNotCountWhereTheLastOneIsDull) {
  Looked looked;
  looked.answers[1].response = 0.9;
  looked.answers[0].sharpness = 6.9;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.answers[0].sharpness = 7;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
}

TEST(Shown, AnotherSizeIsNotChosenWhereNoTargetMayBe) {
  Looked looked({-39, 200, 40, 120});
  looked.answers[1].response = 0.9;
  looked.answers[1].x = -1;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.answers[1].x = 1;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
}

TEST(Shown, AnotherLookIsWorthItWhereASightIsNotSharp) {
  EXPECT_TRUE(is_worth_another_look({box, 0.5, 18.9}, frame));
  EXPECT_FALSE(is_worth_another_look({box, 0.5, 19}, frame));
  EXPECT_FALSE(is_worth_another_look({{-40, 200, 40, 120}, 0.5, 10}, frame));
}

}  // namespace
}  // namespace api
