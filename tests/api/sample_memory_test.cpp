// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter remembers: played with numbers in place of spectra.
#include <gtest/gtest.h>

#include <vector>

#include "tracking/filters/sample_memory.hpp"

namespace api {
namespace {

using namespace xcorr::tracker;

/// A memory of numbers, changed as the stage filter_update changes samples.
struct Numbers {
  SampleMemory memory;
  std::vector<float> slots = std::vector<float>(samples_kept, -1e9f);
  TrainingSample last{};

  void learn(float seen) {
    last = memory.next(7);
    const std::vector<float> before = slots;
    for (int k = 0; k < last.count; ++k)
      slots[k] = last.next(k, seen, [&](int slot) { return before[slot]; });
  }
  double weights() const {
    double sum = 0;
    for (int k = 0; k < last.count; ++k) sum += last.weights[k];
    return sum;
  }
  double mean() const {
    double sum = 0;
    for (int k = 0; k < last.count; ++k) sum += double{last.weights[k]} * slots[k];
    return sum;
  }
};

TEST(SampleMemory, TakesSamplesUntilItIsFull) {
  Numbers numbers;
  for (int i = 0; i < samples_kept; ++i) {
    numbers.learn(static_cast<float>(i));
    EXPECT_EQ(numbers.last.filter, 7);
    EXPECT_EQ(numbers.last.count, i + 1);
    EXPECT_EQ(numbers.last.slot, i);
    EXPECT_EQ(numbers.last.merged, -1);
    EXPECT_NEAR(numbers.weights(), 1, 1e-6);
  }
  numbers.learn(100);
  EXPECT_EQ(numbers.last.count, samples_kept);
  EXPECT_GE(numbers.last.merged, 0);
}

/// As long as the first sample counts more than its least, the mean over the memory is the running
/// mean of what was learnt: a sample that becomes part of another one counts as before.
TEST(SampleMemory, CountsAllThatItHasLearnt) {
  Numbers numbers;
  double mean = 0;
  for (int i = 0; i < 100; ++i) {
    const auto seen = static_cast<float>(i * 37 % 50);
    mean = i == 0 ? seen : 0.98 * mean + 0.02 * seen;
    numbers.learn(seen);
    ASSERT_NEAR(numbers.mean(), mean, 1e-3) << i;
  }
}

TEST(SampleMemory, KeepsTheFirstViewAndStretchesOfTime) {
  Numbers numbers;
  constexpr int last = 1000;
  for (int i = 0; i <= last; ++i) numbers.learn(static_cast<float>(i));
  EXPECT_EQ(numbers.slots[0], 0);
  EXPECT_GE(numbers.last.weights[0], 0.09);
  EXPECT_NEAR(numbers.weights(), 1, 1e-6);
  // What was long ago hardly counts any more, but for the first view.
  double recent = 0;
  for (int k = 1; k < numbers.last.count; ++k)
    if (numbers.slots[k] > last - 200) recent += numbers.last.weights[k];
  EXPECT_GT(recent, 0.75);
  for (int k = 1; k < numbers.last.count; ++k) EXPECT_GT(numbers.last.weights[k], 0.01);
}

}  // namespace
}  // namespace api
