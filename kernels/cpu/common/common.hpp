// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the CPU families share: typed views of a problem's matrices, the features that the match
// stages support, and threads. Work is distributed over a fixed number of slots, so that the
// workspace can be divided into one piece of scratch memory per slot, whichever thread runs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tbb/info.h>

#include <xcorr/stop.hpp>

#include "stages/correlate/correlate.hpp"

namespace xcorr::cpu {

/// One matrix: element (x, y) is row(y)[x].
template <class T>
struct Matrix {
  const std::byte* data;
  std::int64_t pitch;
  Size size;

  const T* row(int y) const { return reinterpret_cast<const T*>(data + y * pitch); }
};

template <class T>
Matrix<T> left_of(const Problem& p, const void* lefts, std::int64_t index) {
  return {static_cast<const std::byte*>(lefts) + index * p.left_stride, p.left_pitch, p.left};
}

/// `rights`: the original templates, or the operands of the multiplication.
template <class T>
Matrix<T> right_of(const Problem& p, const void* rights, std::int64_t index) {
  return {static_cast<const std::byte*>(rights) + index * p.right_stride, p.right_pitch, p.right};
}

/// The planes of them, and of a right of a picture of several.
template <class T>
Matrix<T> left_of(const Problem& p, const void* lefts, std::int64_t index, int plane) {
  return left_of<T>(p, static_cast<const std::byte*>(lefts) + plane * p.left_plane, index);
}
template <class T>
Matrix<T> right_of(const Problem& p, const void* rights, std::int64_t index, int plane) {
  return right_of<T>(p, rights, std::int64_t{plane} * p.rights + index);
}

/// The features that the stages after correlate support here.
inline constexpr Features match_features{Feature::u8,        Feature::u16,           Feature::f32,
                                         Feature::wide_sums, Feature::several_peaks, Feature::mask,
                                         Feature::contrast,  Feature::planes};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// ---- threads --------------------------------------------------------------------------------

/// The most pieces of work that run at a time: the number of cores.
inline int slot_count() { return std::max(1, tbb::info::default_concurrency()); }

/// A loop's body for the indices from `begin` to below `end`, without its type: what shares loops
/// out exists once, not once for each of some hundred bodies.
struct LoopBlock {
  const void* block;
  void (*call)(const void* block, std::int64_t begin, std::int64_t end);
};

template <class Block>
LoopBlock loop_block(const Block& block) {
  return {&block, [](const void* of, std::int64_t begin, std::int64_t end) {
            (*static_cast<const Block*>(of))(begin, end);
          }};
}

/// In parallel, in blocks as large as the number of threads lets them be; or each index by itself.
void run_blocks(std::int64_t first, std::int64_t last, LoopBlock block);
void run_each(std::int64_t first, std::int64_t last, LoopBlock block);

/// Calls body(index) for each index from `first` to below `last`, in parallel; those that have not
/// begun are left out once the calling thread's work is to stop.
template <class Index, class Body>
void parallel_for(Index first, Index last, const Body& body) {
  const Stop* const stop = current_stop();
  const auto block = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index)
      if (!stop || !stop->is_requested()) body(static_cast<Index>(index));
  };
  run_blocks(first, last, loop_block(block));
}

/// Calls body(slot, index) for each index below `count`, in parallel over at most `slots` slots,
/// and stops as parallel_for() does. Calls for one slot do not overlap.
template <class Body>
void parallel_slots(int slots, std::int64_t count, const Body& body) {
  const Stop* const stop = current_stop();
  std::atomic<std::int64_t> next{0};
  const auto block = [&](std::int64_t slot, std::int64_t) {
    for (std::int64_t index = next++; index < count; index = next++) {
      if (stop && stop->is_requested()) return;
      body(static_cast<int>(slot), index);
    }
  };
  run_each(0, std::min<std::int64_t>(slots, count), loop_block(block));
}

/// The workspace as equal pieces of `bytes_each`, one per slot, each on its own cache lines.
struct SlotMemory {
  static constexpr std::size_t line = 64;

  std::byte* base;
  std::size_t bytes_each;

  SlotMemory(void* workspace, std::size_t bytes)
      : base(static_cast<std::byte*>(workspace)), bytes_each(rounded(bytes)) {
    base += rounded(reinterpret_cast<std::uintptr_t>(workspace)) -
            reinterpret_cast<std::uintptr_t>(workspace);
  }
  std::byte* of(int slot) const { return base + slot * bytes_each; }

  static constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + line - 1) / line * line;
  }
  static std::size_t total(std::size_t bytes) { return line + slot_count() * rounded(bytes); }
};

/// Divides a slot's memory into parts, each from a cache line on.
struct SlotParts {
  std::size_t bytes = 0;  ///< of all so far

  /// Where the next part is, of so many bytes.
  std::size_t add(std::size_t count) {
    const std::size_t at = bytes;
    bytes = SlotMemory::rounded(bytes + count);
    return at;
  }
};

}  // namespace xcorr::cpu
