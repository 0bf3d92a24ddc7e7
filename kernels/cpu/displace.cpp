// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of bytes on the CPU, a window a task. Sums over the windows of the frame,
// which neighbours share, are those of the whole frame where windows are dense.
#include "cpu/common.hpp"
#include "cpu/displaced_bytes.hpp"

namespace xcorr::cpu {
namespace displace {

/// Scratch memory of one slot.
struct Scratch {
  SquareScratch square;
  std::size_t products, scores, of_frame, bytes;

  explicit Scratch(const stage::Displace::Problem& p) : square(p.window, p.shifts()) {
    SlotParts parts{square.bytes};
    products = parts.add(sizeof(std::uint32_t) * square.sums);
    scores = parts.add(sizeof(double) * square.sums);
    of_frame = parts.add(ByteSquares::frame_sums_bytes(p, {p.shifts(), p.shifts()}));
    bytes = parts.bytes;
  }
};

/// Whether windows overlap so much that it is less to sum all of the frame's, and there is memory
/// for that: half a gigabyte.
bool sums_whole_frame(const stage::Displace::Problem& p) {
  const std::int64_t side = p.window + p.shifts() - 1, most = std::int64_t{1} << 26;
  return p.frame.area() <= std::min(most, p.count * side * side);
}

/// The mask's pixels of a window; null where all count.
const std::uint8_t* mask_of(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                            const FieldWindow& window) {
  if (!p.masked) return nullptr;
  const std::uint8_t* mask = b.mask + std::int64_t{window.y} * p.frame.width + window.x;
  for (int y = 0; y < p.window; ++y)
    for (int x = 0; x < p.window; ++x)
      if (!mask[std::int64_t{y} * p.frame.width + x]) return mask;
  return nullptr;
}

/// The scores by the pixels that count; returns the reference's sums over these.
FieldSums search_masked(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                        const FieldWindow& window, const SearchedPlaces& places,
                        const std::uint8_t* mask, int pitch, double* scores) {
  FieldSums reference;
  const std::uint8_t* pixels = b.reference + window.y * p.pitch + window.x;
  const auto sums_at = [&](int left, int top, FieldSums& sums) {
    double product = 0;
    sums = {};
    for (int y = 0; y < p.window; ++y) {
      std::uint32_t in_row[4] = {};
      for (int x = 0; x < p.window; ++x) {
        if (!mask[std::int64_t{y} * p.frame.width + x]) continue;
        const std::uint32_t f = b.frame[(top + y) * p.frame_pitch + left + x];
        ++in_row[0];
        in_row[1] += f;
        in_row[2] += f * f;
        in_row[3] += f * pixels[y * p.pitch + x];
      }
      sums.n += in_row[0];
      sums.sum += in_row[1];
      sums.squares += in_row[2];
      product += in_row[3];
    }
    return product;
  };
  for (int y = 0; y < p.window; ++y)
    for (int x = 0; x < p.window; ++x) {
      if (!mask[std::int64_t{y} * p.frame.width + x]) continue;
      const double pixel = pixels[y * p.pitch + x];
      ++reference.n;
      reference.sum += pixel;
      reference.squares += pixel * pixel;
    }
  const double variance = reference.n2_variance();
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x) {
      FieldSums sums;
      const double product = sums_at(places.left + x, places.top + y, sums);
      scores[std::int64_t{y} * pitch + x] = window_score(reference, variance, sums, product);
    }
  return reference;
}

/// The i-th window's. `frame`: of all of its windows, if there are.
FieldVector measure(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                    const ByteFrameSums& frame, std::int64_t i, std::byte* memory) {
  const Scratch s(p);
  auto* const scores = reinterpret_cast<double*>(memory + s.scores);
  const auto score = [&](const FieldWindow& window, const SearchedPlaces& places) {
    if (const std::uint8_t* mask = mask_of(p, b, window))
      return search_masked(p, b, window, places, mask, s.square.columns, scores).n2_variance() > 0;
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

  Layout(const stage::Displace::Problem& p, const Device& device)
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

std::size_t workspace(const stage::Displace::Problem& p, const Device& device) {
  return Layout(p, device).bytes;
}

Status launch(const stage::Displace::Problem& p, const Device& device,
              const stage::Displace::Buffers& b, PlanState*) {
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

constexpr Variant<stage::Displace> table[] = {
    {{"displace", Backend::cpu, {Feature::u8, Feature::mask, Feature::ensemble}},
     supports_all,
     launch,
     workspace},
};

}  // namespace displace

Family displace_family() { return Family(displace::table); }

}  // namespace xcorr::cpu
