// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/window_batch.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace xcorr {

std::vector<std::size_t> WindowBatch::slots_for(std::span<const BatchedWindow> windows) const {
  std::map<std::uint32_t, std::size_t> next;  // slot of a template
  std::vector<std::size_t> found;
  for (const BatchedWindow& window : windows) {
    const auto first = std::ranges::lower_bound(slots_, window.template_index) - slots_.begin();
    auto& slot = next.try_emplace(window.template_index, first).first->second;
    if (slot >= slots_.size() || slots_[slot] != window.template_index) break;
    found.push_back(slot++);
  }
  return found;
}

Status WindowBatch::provide(const WindowTask& task, std::span<const BatchedWindow> windows) {
  if (plan_ && plan_->adopt(task.settings) && slots_for(windows).size() == windows.size())
    return {};
  std::map<std::uint32_t, std::size_t> counts;
  for (const BatchedWindow& window : windows) ++counts[window.template_index];
  for (auto& [index, count] : counts) count = std::bit_ceil(count);
  for (const auto& slots = slots_; const std::uint32_t index : slots)
    counts[index] = std::max<std::size_t>(counts[index], std::ranges::count(slots, index));
  std::vector<std::uint32_t> slots;
  std::vector<BankTemplate> bank;
  for (const auto& [index, count] : counts) {
    slots.insert(slots.end(), count, index);
    bank.insert(bank.end(), count, task.bank[index]);
  }
  auto made =
      MatchPlan::make_for_windows(task.device, bank, task.frame, task.settings, task.stream);
  if (!made.ok()) return made.status();
  plan_ = std::move(made.value());
  slots_ = std::move(slots);
  return {};
}

/// Slots without a window search a corner of the frame.
Status WindowBatch::enqueue(const MatrixView& frame, std::span<const BatchedWindow> windows,
                            Stream stream) {
  enqueued_ = slots_for(windows);
  std::vector<PartCorner> corners(1 + *std::ranges::max_element(enqueued_));
  for (std::size_t i = 0; i < windows.size(); ++i) corners[enqueued_[i]] = windows[i].corner;
  return plan_->enqueue(frame, corners, stream);
}

std::vector<std::vector<Peak>> WindowBatch::collect() const {
  std::vector<Peak> all;
  plan_->collect(all);
  std::vector<std::vector<Peak>> of_slots(slots_.size()), peaks;
  for (Peak& peak : all) {
    const std::uint32_t slot = peak.template_index;
    peak.template_index = slots_[slot];
    of_slots[slot].push_back(peak);
  }
  for (const std::size_t slot : enqueued_) peaks.push_back(std::move(of_slots[slot]));
  return peaks;
}

}  // namespace xcorr
