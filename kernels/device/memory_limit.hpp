// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A limit for the memory that is allocated in a scope: every Block counts, and what there will be
// can be asked for beforehand.
#pragma once

#include <cstddef>
#include <string>

#include <xcorr/types.hpp>

namespace xcorr {

class MemoryLimit {
 public:
  /// From here to its end this thread's blocks count. `most`: bytes; 0: no limit.
  explicit MemoryLimit(std::size_t most);
  MemoryLimit(const MemoryLimit&) = delete;
  ~MemoryLimit();

  /// What is allocated now.
  std::size_t used() const { return used_; }

  /// over_budget where so many bytes more would be too many; `what` says what takes them.
  static Status check(double bytes, const std::string& what);
  /// Of a block that is made, and of one that ends.
  static Status take(std::size_t bytes);
  static void give_back(std::size_t bytes);

 private:
  std::size_t most_, used_ = 0;
  MemoryLimit* outer_;
};

}  // namespace xcorr
