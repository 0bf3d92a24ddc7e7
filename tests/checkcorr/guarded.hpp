// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>
#include <vector>

#include "device/runtime.hpp"

namespace checkcorr {

/// A buffer in the device's memory between two guards. Under AddressSanitizer even reading a guard
/// on the CPU is an error.
class Guarded {
 public:
  /// `misalign`: bytes by which data() misses the alignment of a fresh allocation.
  static xcorr::Result<Guarded> make(xcorr::Backend backend, std::size_t bytes,
                                     std::size_t misalign);
  Guarded() = default;
  Guarded(Guarded&& other) noexcept { *this = std::move(other); }
  Guarded& operator=(Guarded&& other) noexcept;
  ~Guarded();

  /// Null of one that was not made.
  std::byte* data() const { return block_.data() ? block_.as<std::byte>() + before() : nullptr; }

  /// Waits until it is written.
  xcorr::Status write(const std::vector<std::byte>& bytes);
  /// Fills it with a value that no result has: all bits set, a NaN.
  xcorr::Status poison();
  /// Reads it back and reports what changed: a guard or, with `constant`, the contents.
  xcorr::Result<std::string> read(std::vector<std::byte>& bytes, bool constant);

 private:
  static constexpr std::size_t guard = 256;
  std::size_t before() const { return guard + misalign_; }
  xcorr::Status upload();
  void forbid_guards(bool forbid);

  xcorr::Backend backend_ = xcorr::Backend::cpu;
  std::size_t bytes_ = 0, misalign_ = 0;
  xcorr::Block block_;
  std::vector<std::byte> image_;  ///< what was last uploaded, guards and all
};

}  // namespace checkcorr
