// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of bytes on the CPU, one task per window; windows of which not all pixels
// count are searched like those of words. Sums over the windows of the frame, which neighbours
// share, are those of the whole frame where windows are dense.
#include <algorithm>

#include "cpu/common/common.hpp"
#include "cpu/fields/window_search_bytes.hpp"
#include "cpu/fields/window_search_u16_f32.hpp"

namespace xcorr::cpu {
namespace window_search {

/// Scratch memory of one slot.
struct Scratch {
  SquareScratch square;
  std::size_t products, scores, of_frame, bytes;

  explicit Scratch(const stage::WindowSearch::Problem& p) : square(p.window, p.shifts()) {
    SlotParts parts{square.bytes};
    products = parts.add(sizeof(std::uint32_t) * square.sums);
    scores = parts.add(sizeof(double) * square.sums);
    of_frame = parts.add(ByteSquares::frame_sums_bytes(p, {p.shifts(), p.shifts()}));
    bytes = std::max(parts.bytes, p.masked ? u16_f32_window_bytes(p) : 0);
  }
};

/// Whether windows overlap so much that it is less to sum all of the frame's, and there is memory
/// for that: half a gigabyte.
bool sums_whole_frame(const stage::WindowSearch::Problem& p) {
  const std::int64_t side = p.window + p.shifts() - 1, most = std::int64_t{1} << 26;
  return p.frame.area() <= std::min(most, p.count * side * side);
}

/// Whether a mask takes pixels from a window.
bool is_masked(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
               const InterrogationWindow& window) {
  if (!p.masked || window.status != FieldStatus::ok) return false;
  for (int y = 0; y < p.window; ++y) {
    const std::uint8_t* row = b.mask + std::int64_t{window.y + y} * p.frame.width + window.x;
    if (std::find(row, row + p.window, 0) != row + p.window) return true;
  }
  return false;
}

/// The i-th window's. `frame`: of all of its windows, if there are.
FieldVector measure(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                    const ByteFrameSums& frame, std::int64_t i, std::byte* memory) {
  if (is_masked(p, b, b.windows[i])) return measure_u16_f32<std::uint8_t>(p, b, i, memory);
  const Scratch s(p);
  auto* const scores = reinterpret_cast<double*>(memory + s.scores);
  const auto score = [&](const InterrogationWindow& window, const SearchedPlaces& places) {
    const Bytes square{b.reference + window.y * p.pitch + window.x, p.pitch};
    const FieldSums reference = sums_of_square(square, p.window);
    if (!(reference.n2_variance() > 0)) return false;
    const Rect inside = places.inside();
    const ByteFrameSums sums = frame.sums
                                   ? frame.at(inside.x, inside.y)
                                   : ByteSquares::frame_sums(p, b, inside, memory + s.of_frame);
    auto* const product = reinterpret_cast<std::uint32_t*>(memory + s.products);
    const std::uint32_t* const products[] = {product};
    multiply_square(s.square, memory, square, {b.frame, p.frame_pitch}, places, product);
    score_places(s.square, reference, products, sums, places, scores);
    return true;
  };
  return measured(p, b, i, scores, s.square.columns, score);
}

/// Where the sums of all windows of the frame lie in the workspace.
struct Layout {
  std::size_t sums, squares, of_sums, bytes;

  Layout(const stage::WindowSearch::Problem& p, const Device& device)
      : sums(SlotMemory::rounded(SlotMemory::total(Scratch(p).bytes))) {
    const bool whole = sums_whole_frame(p);
    const stage::WindowSums::Problem all = frame_windows(p);
    const auto places =
        static_cast<std::size_t>(all.correlate.shifts.size().area() + SquareScratch::slack);
    squares = sums + (whole ? SlotMemory::rounded(4 * places) : 0);
    of_sums = squares + squares - sums;
    bytes = of_sums + (whole ? window_sums_workspace(all, device) : 0);
  }
};

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device& device) {
  return Layout(p, device).bytes;
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  const SlotMemory memory(b.workspace, Scratch(p).bytes);
  ByteFrameSums frame;
  if (sums_whole_frame(p)) {
    auto* const base = static_cast<std::byte*>(b.workspace);
    const Layout layout(p, device);
    const stage::WindowSums::Problem all = frame_windows(p);
    auto* const sums = reinterpret_cast<std::uint32_t*>(base + layout.sums);
    auto* const squares = reinterpret_cast<std::uint32_t*>(base + layout.squares);
    if (Status s = launch_window_sums(
            all, device, {{base + layout.of_sums, b.stream}, b.frame, nullptr, sums, squares});
        !s.ok())
      return s;
    frame = {sums, squares, all.correlate.shifts.width};
  }
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    const FieldVector vector = measure(p, b, frame, i, memory.of(slot));
    if (p.is_last()) b.vectors[i] = vector;
  });
  return {};
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::ensemble}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace window_search

Family window_search_family() { return Family(window_search::table); }

}  // namespace xcorr::cpu
