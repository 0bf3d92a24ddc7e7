// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One variant with one problem on one device: its plan, and memory with sentinels around every
// buffer. Shared by the check and the bench.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/runtime.hpp"
#include "values.hpp"

namespace checkcorr {

/// Sets the pointer of that role.
void point(xcorr::Buffers& b, Role role, std::byte* data);

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

  std::byte* data() const { return block_.as<std::byte>() + before(); }

  /// Waits until it is there.
  xcorr::Status write(const std::vector<std::byte>& bytes);
  /// Fills it with what no result is: all bits set, a NaN.
  xcorr::Status poison();
  /// Reads it back, and says what is wrong: a guard that changed, or with `constant` anything.
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

class Session {
 public:
  /// Allocates, plans, uploads the inputs. `misalign`: in elements, of all matrices of pixels and
  /// surfaces.
  static xcorr::Result<Session> make(const xcorr::Variant& variant, const xcorr::Device& device,
                                     const MatchProblem& problem, const Values& inputs,
                                     int misalign);

  /// Gives the inputs other contents, as a next frame and another bank would.
  xcorr::Status replace(const Values& inputs);
  /// Gives the plan the rights in memory.
  xcorr::Status set_rights();
  xcorr::Status poison();

  /// Enqueues the rights [first, first + count).
  xcorr::Status launch(int first, int count, bool new_left);
  xcorr::Status wait();

  /// Fetches the outputs. The string is empty, or says which guard or input changed.
  xcorr::Result<std::string> read(Values& outputs);

  /// See PlanState::product_error; 0: none.
  xcorr::Result<float> product_error();

 private:
  const xcorr::Variant* variant_ = nullptr;
  const xcorr::Device* device_ = nullptr;
  MatchProblem problem_;
  std::unique_ptr<xcorr::PlanState> state_;
  std::array<std::optional<Guarded>, role_count> memory_;
  Guarded workspace_;
};

}  // namespace checkcorr
