// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/device_load.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace cudaxcorr {
namespace {

/// Of the process.
struct Table {
  std::mutex mutex;
  std::map<int, int> claims;  ///< by CUDA's number
};

Table& table() {
  static Table only;
  return only;
}

}  // namespace

DeviceClaim::DeviceClaim(std::vector<int> ordinals) : ordinals_(std::move(ordinals)) {
  const std::lock_guard lock(table().mutex);
  for (const int ordinal : ordinals_) ++table().claims[ordinal];
}

DeviceClaim DeviceClaim::on_least_loaded(std::span<const int> ordinals) {
  DeviceClaim claim;
  const std::lock_guard lock(table().mutex);
  auto& claims = table().claims;
  claim.ordinals_ = {*std::ranges::min_element(ordinals, {}, [&](int i) { return claims[i]; })};
  ++claims[claim.ordinals_.front()];
  return claim;
}

DeviceClaim::DeviceClaim(DeviceClaim&& other) noexcept
    : ordinals_(std::exchange(other.ordinals_, {})) {}

DeviceClaim& DeviceClaim::operator=(DeviceClaim&& other) noexcept {
  std::swap(ordinals_, other.ordinals_);
  return *this;
}

DeviceClaim::~DeviceClaim() {
  const std::lock_guard lock(table().mutex);
  for (const int ordinal : ordinals_) --table().claims[ordinal];
}

}  // namespace cudaxcorr
