// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When groups of templates are searched by their lead plane first.
#include "match/lead.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace api {
namespace {

using xcorr::LeadChoice;

TEST(LeadChoice, AsLongAsItLeavesLittleOpen) {
  LeadChoice choice;
  std::vector<float> shares{0, 0, 0};
  EXPECT_TRUE(choice.next(shares, 3));
  shares = {0.1F, 0.9F, 0.2F};
  EXPECT_TRUE(choice.next(shares, 3));
  shares = {-1, 0.2F, -1};  // others are not searched
  EXPECT_TRUE(choice.next(shares, 1));
  shares = {-1, 0.6F, -1};
  EXPECT_FALSE(choice.next(shares, 1));
}

/// How many frames it goes without, the last of which is followed by one that it tries.
int pause(LeadChoice& choice, std::vector<float>& shares) {
  for (int frames = 0; frames < 1000; ++frames)
    if (choice.next(shares, 3)) return frames;
  return -1;
}

TEST(LeadChoice, TriesAgainLaterAndLater) {
  LeadChoice choice;
  std::vector<float> shares{0.9F, 0.6F, 0.3F};
  for (const int frames : {15, 30, 60, 120, 240, 240}) {
    EXPECT_EQ(pause(choice, shares), frames);
    EXPECT_FALSE(choice.next(shares, 3)) << "its outcome is not known yet";
    shares = {0, -1, 1};
    EXPECT_FALSE(choice.next(shares, 3)) << "one template's is not";
    shares = {1, 1, 1};
  }
  EXPECT_EQ(pause(choice, shares), 240);
  shares = {0, 0, 0};
  EXPECT_TRUE(choice.next(shares, 3));
  shares = {1, 1, 1};
  EXPECT_EQ(pause(choice, shares), 15);
}

TEST(LeadChoice, DoesNotWaitForEver) {
  LeadChoice choice;
  std::vector<float> shares{1, 1, 1};
  EXPECT_EQ(pause(choice, shares), 15);
  EXPECT_EQ(pause(choice, shares), 239);
}

}  // namespace
}  // namespace api
