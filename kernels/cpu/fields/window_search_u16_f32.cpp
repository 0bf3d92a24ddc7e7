// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of u16 and f32 on the CPU, one task per window, and of bytes of which not all
// count. Sums over the windows of the frame are put together from those of neighbours, or under a
// mask summed like the products.
#include "cpu/fields/window_search_u16_f32.hpp"
#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace window_search_u16_f32 {

/// Scratch memory of one slot.
struct Scratch {
  U16F32Scratch square;
  std::size_t region, region_squares, taps, counts, products, sums, squares, scores, of_sums, bytes;

  explicit Scratch(const stage::WindowSearch::Problem& p) : square(p.window, p.shifts()) {
    SlotParts parts;
    const auto add = [&](std::size_t numbers) { return parts.add(sizeof(double) * numbers); };
    region = add(square.region);
    region_squares = add(p.masked ? square.region : 0);
    taps = add(square.taps);
    counts = add(p.masked ? square.taps : 0);
    products = add(square.sums);
    sums = add(p.masked ? square.sums : 0);
    squares = add(p.masked ? square.sums : 0);
    scores = add(square.sums);
    of_sums = parts.add(U16F32Squares<float>::frame_sums_bytes(p, {p.shifts(), p.shifts()}));
    bytes = parts.bytes;
  }
};

template <class T>
class Window {
 public:
  Window(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
         std::byte* memory)
      : p_(p), b_(b), s_(p), memory_(memory) {}

  FieldVector measure(std::int64_t i) const {
    const auto score = [&](const InterrogationWindow& window, const SearchedPlaces& places) {
      const U16F32Sums reference = fill_taps(window);
      fill_region<T>(s_.square, p_, b_, places, at(s_.region));
      multiply_u16_f32(s_.square, at(s_.region), at(s_.taps), places, at(s_.products));
      const bool whole = reference.n == double(p_.window) * p_.window;
      const double* const products[] = {at(s_.products)};
      return score_u16_f32<T>(s_.square, reference, products,
                              whole ? sums_of_all(places) : sums_of_counted(places), places,
                              at(s_.scores));
    };
    return measured(p_, b_, i, at(s_.scores), s_.square.columns, score);
  }

 private:
  double* at(std::size_t offset) const { return reinterpret_cast<double*>(memory_ + offset); }

  /// The window's pixels, 0 where they do not count.
  U16F32Sums fill_taps(const InterrogationWindow& window) const {
    U16F32Sums sums;
    double *tap = at(s_.taps), *count = at(s_.counts);
    each_pixel<T>(p_, b_, window, p_.window, [&](double value, bool counts) {
      *tap++ = value;
      if (p_.masked) *count++ = counts;
      sums.add(value, counts);
    });
    return sums;
  }

  U16F32FrameSums sums_of_all(const SearchedPlaces& places) const {
    return U16F32Squares<T>::frame_sums(p_, b_, places.inside(), memory_ + s_.of_sums)
        .at(-places.from_x, -places.from_y);
  }
  U16F32FrameSums sums_of_counted(const SearchedPlaces& places) const {
    const double* const region = at(s_.region);
    double* const of_squares = at(s_.region_squares);
    for (std::size_t i = 0; i < s_.square.region; ++i) of_squares[i] = region[i] * region[i];
    multiply_u16_f32(s_.square, region, at(s_.counts), places, at(s_.sums));
    multiply_u16_f32(s_.square, of_squares, at(s_.counts), places, at(s_.squares));
    return {at(s_.sums), at(s_.squares), s_.square.columns};
  }

  const stage::WindowSearch::Problem& p_;
  const stage::WindowSearch::Buffers& b_;
  const Scratch s_;
  std::byte* const memory_;
};

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device&) {
  return SlotMemory::total(u16_f32_window_bytes(p));
}

Status launch(const stage::WindowSearch::Problem& p, const Device&,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  const SlotMemory memory(b.workspace, u16_f32_window_bytes(p));
  const auto measure =
      p.type == ElementType::u16 ? measure_u16_f32<std::uint16_t> : measure_u16_f32<float>;
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    const FieldVector vector = measure(p, b, i, memory.of(slot));
    if (p.is_last()) b.vectors[i] = vector;
  });
  return {};
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_u16_f32",
      .backend = Backend::cpu,
      .features = {Feature::u16, Feature::f32, Feature::mask, Feature::ensemble}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace window_search_u16_f32

template <class T>
FieldVector measure_u16_f32(const stage::WindowSearch::Problem& p,
                            const stage::WindowSearch::Buffers& b, std::int64_t i,
                            std::byte* memory) {
  return window_search_u16_f32::Window<T>(p, b, memory).measure(i);
}
template FieldVector measure_u16_f32<std::uint8_t>(const stage::WindowSearch::Problem&,
                                                   const stage::WindowSearch::Buffers&,
                                                   std::int64_t, std::byte*);

std::size_t u16_f32_window_bytes(const stage::WindowSearch::Problem& p) {
  return window_search_u16_f32::Scratch(p).bytes;
}

Family window_search_u16_f32_family() { return Family(window_search_u16_f32::table); }

}  // namespace xcorr::cpu
