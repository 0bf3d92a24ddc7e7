// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/sample_memory.hpp"

#include <algorithm>

namespace xcorr::tracker {
namespace {

/// How much a new sample counts; and the first one at least, which is the only one that is known to
/// show the target.
constexpr double rate = 0.02, least_of_first = 0.1;

}  // namespace

TrainingSample SampleMemory::next(std::int32_t filter) {
  TrainingSample sample{filter, 1, static_cast<std::int32_t>(kept_.size()), -1, 0, {}};
  for (Kept& kept : kept_) kept.weight *= 1 - rate;
  kept_.push_back({sample.slot, kept_.empty() ? 1 : rate});
  kept_.front().weight = std::max(kept_.front().weight, least_of_first);
  if (kept_.size() > samples_kept) {
    auto least = kept_.begin() + 1;
    const auto weight_of_pair = [](auto kept) { return kept[0].weight + kept[1].weight; };
    for (auto kept = least; kept + 1 != kept_.end(); ++kept)
      if (weight_of_pair(kept) < weight_of_pair(least)) least = kept;
    const auto next = least + 1;
    sample.merged = least->slot;
    sample.share = static_cast<float>(next->weight / weight_of_pair(least));
    sample.slot = next + 1 == kept_.end() ? -1 : next->slot;
    kept_.back().slot = sample.slot;
    least->weight += next->weight;
    kept_.erase(next);
  }
  double sum = 0;
  for (const Kept& kept : kept_) sum += kept.weight;
  for (Kept& kept : kept_) {
    kept.weight /= sum;
    sample.weights[kept.slot] = static_cast<float>(kept.weight);
  }
  sample.count = static_cast<std::int32_t>(kept_.size());
  return sample;
}

}  // namespace xcorr::tracker
