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
  EXPECT_TRUE(choice.next(shares));
  shares = {0.1F, 0.9F, 0.2F};
  EXPECT_TRUE(choice.next(shares));
}

TEST(LeadChoice, TriesAgainAfterAWhile) {
  LeadChoice choice;
  std::vector<float> shares{1, 0.9F, 0.3F};
  for (int time = 0; time < 2; ++time) {
    for (int frame = 0; frame < 15; ++frame) EXPECT_FALSE(choice.next(shares)) << frame;
    EXPECT_TRUE(choice.next(shares));
    EXPECT_TRUE(choice.next(shares));  // whose outcome is not known yet
    shares = {1, 1, 1};
  }
}

}  // namespace
}  // namespace api
