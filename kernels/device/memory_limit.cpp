// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device/memory_limit.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace xcorr {
namespace {

thread_local MemoryLimit* innermost = nullptr;

std::string in_gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB", bytes * 1e-9);
  return text;
}

}  // namespace

MemoryLimit::MemoryLimit(std::size_t most) : most_(most), outer_(std::exchange(innermost, this)) {}
MemoryLimit::~MemoryLimit() { innermost = outer_; }

Status MemoryLimit::check(double bytes, const std::string& what) {
  const MemoryLimit* limit = innermost;
  if (!limit || limit->most_ == 0) return {};
  const double needed = static_cast<double>(limit->used_) + bytes;
  const auto most = static_cast<double>(limit->most_);
  if (needed <= most) return {};
  return {Code::over_budget, what + " would take about " + in_gigabytes(needed) +
                                 " of memory, more than the " + in_gigabytes(most) +
                                 " of max-memory"};
}

Status MemoryLimit::take(std::size_t bytes) {
  if (Status s = check(static_cast<double>(bytes), "what is made for a frame, and perhaps more,");
      !s.ok())
    return s;
  if (innermost) innermost->used_ += bytes;
  return {};
}

void MemoryLimit::give_back(std::size_t bytes) {
  if (innermost) innermost->used_ -= std::min(innermost->used_, bytes);
}

}  // namespace xcorr
