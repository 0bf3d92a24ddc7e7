// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warped templates of bytes on the CPU: a vector has neighbouring pixels of a row. They equal those
// of WarpedPixel (stages/poses/warp_template.hpp) to the last bit.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/poses/warp_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/common/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_TURN_BYTES_JOB
#define XCORR_CPU_TURN_BYTES_JOB
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cpu/poses/warped.hpp"

namespace xcorr::cpu::warp_bytes {

/// The weights of cubic convolution by the fraction, as pairs of 16 bits: of pixels 0 and 2, and of
/// pixels 1 and 3.
struct Weights {
  std::int32_t even[128], odd[128];

  Weights() {
    const auto pair = [](int low, int high) {
      return static_cast<std::int32_t>((std::uint32_t(low) & 0xffff) | std::uint32_t(high) << 16);
    };
    for (int fraction = 0; fraction < 128; ++fraction) {
      const CubicWeights weights(fraction);
      even[fraction] = pair(weights.of[0], weights.of[2]);
      odd[fraction] = pair(weights.of[1], weights.of[3]);
    }
  }
};

struct Job {
  const WarpedTemplate<std::uint8_t>* from;
  const WarpMap* map;
  const Weights* weights;
  std::int64_t pitch;  ///< of image and mask
  std::uint8_t *image, *mask;
};

/// Of an image, over the pixels that count.
struct Sums {
  std::int64_t counted = 0, sum = 0, squares = 0;
};

}  // namespace xcorr::cpu::warp_bytes
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::warp_bytes::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;
using D = BytePairs::D;
using V = BytePairs::V;
using Lanes = hn::Mask<D>;

class Warping {
 public:
  explicit Warping(const Job& job)
      : job_(job),
        places_(*job.from, *job.map),
        samples_(1 << job.map->log2_samples),
        lanes_(static_cast<int>(hn::Lanes(D()))) {}

  HWY_INLINE Sums run() {
    Sums all;
    for (int y = 0; y < job_.map->height; ++y) {
      V counted = hn::Zero(D()), sum = counted, squares = counted;
      for (int x = 0; x < job_.map->width; x += lanes_) {
        const int count = std::min(lanes_, job_.map->width - x);
        Lanes counts = hn::FirstN(D(), static_cast<std::size_t>(count));
        const V pixels = pixels_at(x, y, counts);
        const V ones = hn::IfThenElseZero(counts, hn::Set(D(), 1));
        const std::int64_t at = y * job_.pitch + x;
        store(pixels, job_.image + at, count);
        store(ones, job_.mask + at, count);
        counted = hn::Add(counted, ones);
        sum = hn::Add(sum, pixels);
        squares = hn::Add(squares, hn::Mul(pixels, pixels));
      }
      const auto total = [](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(D(), v)); };
      all.counted += total(counted);
      all.sum += total(sum);
      all.squares += static_cast<std::uint32_t>(total(squares));
    }
    return all;
  }

 private:
  /// \param counts  which lanes are pixels; in the end, which of these count
  HWY_INLINE V pixels_at(int x, int y, Lanes& counts) const {
    const WarpMap& map = *job_.map;
    V sum = hn::Zero(D());
    for (int j = y * samples_; j < (y + 1) * samples_; ++j)
      for (int i = x * samples_; i < (x + 1) * samples_ && !hn::AllFalse(D(), counts); ++i) {
        const V u = lanes_at(places_.u, i, j), v = lanes_at(places_.v, i, j);
        sum = hn::Add(sum, values(u, v, counts));
      }
    const int shift = 8 + 2 * map.log2_samples;
    const V mean = hn::ShiftRightSame(hn::Add(sum, hn::Set(D(), 1 << (shift - 1))), shift);
    const V pixel = hn::Min(hn::Max(mean, hn::Zero(D())), hn::Set(D(), 255));
    return hn::IfThenElseZero(counts, pixel);
  }

  /// The places, in 128ths of pixels, of the sample there and of those of the next pixels, as many
  /// as there are lanes. As WarpedPlace has them: what is beyond 32 bits is the first one's alone.
  HWY_INLINE V lanes_at(const WarpedCoordinate& coordinate, int x, int y) const {
    const std::int64_t rounded = coordinate.where(x, y) + WarpedPlace::half;
    const std::int32_t step = coordinate.by_x * samples_;
    const V rest = hn::Add(hn::Mul(hn::Iota(D(), 0), hn::Set(D(), step)),
                           hn::Set(D(), static_cast<std::int32_t>(rounded & 0x1ffff)));
    return hn::Add(hn::Set(D(), static_cast<std::int32_t>(rounded >> 17)),
                   hn::ShiftRight<17>(rest));
  }

  /// 256 times the template at places; which of them count is narrowed down to where all that they
  /// are mixed of does.
  HWY_INLINE V values(V u, V v, Lanes& counts) const {
    const Size size = job_.from->size;
    const auto inside = [](V place, int length) HWY_ATTR {
      return hn::Min(hn::Max(place, hn::Zero(D())), hn::Set(D(), (length - 1) << 7));
    };
    const V inner_u = inside(u, size.width), inner_v = inside(v, size.height);
    counts = hn::And(counts, hn::And(hn::Eq(u, inner_u), hn::Eq(v, inner_v)));
    if (hn::AllFalse(D(), counts)) return hn::Zero(D());
    const V fraction = hn::Set(D(), 127);
    const V across = hn::And(inner_u, fraction), down = hn::And(inner_v, fraction);
    const V at = hn::Add(hn::Mul(hn::ShiftRight<7>(inner_v), hn::Set(D(), job_.from->pitch)),
                         hn::ShiftRight<7>(inner_u));
    if (job_.from->mask) counts = hn::And(counts, all_count(at, across, down));

    const V even = weights(job_.weights->even, across), odd = weights(job_.weights->odd, across);
    const V down_even = weights(job_.weights->even, down),
            down_odd = weights(job_.weights->odd, down);
    const auto low = [](V pair) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(pair)); };
    const V of_rows[4] = {low(down_even), low(down_odd), hn::ShiftRight<16>(down_even),
                          hn::ShiftRight<16>(down_odd)};
    V sum = hn::Set(D(), 1 << 13);
    for (int j = 0; j < 4; ++j) {
      const V four = gather(job_.from->pixels + std::int64_t{j} * job_.from->pitch, at);
      const V bytes = hn::Set(D(), 0x00ff00ff);
      auto in_row = BytePairs::zero();
      BytePairs::add(in_row, hn::And(four, bytes), even);
      BytePairs::add(in_row, hn::And(hn::ShiftRight<8>(four), bytes), odd);
      sum = hn::Add(sum, hn::Mul(BytePairs::sum(in_row), of_rows[j]));
    }
    return hn::ShiftRight<14>(sum);
  }

  /// Whether the mask has all that is mixed there.
  HWY_INLINE Lanes all_count(V at, V across, V down) const {
    const int pitch = job_.from->pitch;
    const std::uint8_t* const first = job_.from->mask + pitch + 1;
    const V next_row = hn::IfThenElseZero(hn::Gt(down, hn::Zero(D())), hn::Set(D(), pitch));
    const V both =
        hn::And(above_zero(gather(first, at)), above_zero(gather(first, hn::Add(at, next_row))));
    const V needed =
        hn::IfThenElse(hn::Gt(across, hn::Zero(D())), hn::Set(D(), 0x8080), hn::Set(D(), 0x80));
    return hn::Eq(hn::And(both, needed), needed);
  }
  /// The upper bit of each of the two lower bytes that are not 0, among others.
  static HWY_INLINE V above_zero(V bytes) {
    const V most = hn::Set(D(), 0x7f7f);
    return hn::Or(bytes, hn::Add(hn::And(bytes, most), most));
  }

  static HWY_INLINE V weights(const std::int32_t* table, V fraction) {
    return hn::GatherIndex(D(), table, fraction);
  }
  /// Four bytes each.
  static HWY_INLINE V gather(const std::uint8_t* from, V at) {
    return hn::GatherOffset(D(), reinterpret_cast<const std::int32_t*>(from), at);
  }

  HWY_INLINE void store(V values, std::uint8_t* to, int count) const {
    const hn::Rebind<std::uint8_t, D> d8;
    const auto bytes = hn::DemoteTo(d8, values);
    if (count == lanes_) return hn::StoreU(bytes, d8, to);
    alignas(64) std::uint8_t first[hn::MaxLanes(D())];
    hn::Store(bytes, d8, first);
    std::memcpy(to, first, static_cast<std::size_t>(count));
  }

  const Job& job_;
  WarpedPlaces places_;
  int samples_, lanes_;
};

Sums warp_template(const Job& job) { return Warping(job).run(); }

}  // namespace xcorr::cpu::warp_bytes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace warp_bytes {

HWY_EXPORT(warp_template);

Sums warped_by_vectors(const Job& job) { return HWY_DYNAMIC_DISPATCH(warp_template)(job); }

/// Whether steps from lane to lane fit into 32 bits.
bool is_fine(const WarpMap& map) {
  constexpr std::int64_t most = std::int64_t{1} << 26;
  return std::max(std::abs(std::int64_t{map.u_by_x}), std::abs(std::int64_t{map.v_by_x}))
             << (map.log2_samples + 1) <=
         most;
}

}  // namespace warp_bytes

WarpedTemplateSums warped(const WarpedTemplate<std::uint8_t>& from, const WarpMap& map,
                          std::int64_t pitch, std::uint8_t* image, std::uint8_t* mask) {
  if (std::endian::native != std::endian::little || !warp_bytes::is_fine(map))
    return warped<std::uint8_t>(from, map, pitch, image, mask);
  static const warp_bytes::Weights weights;
  const auto [counted, sum, squares] =
      warp_bytes::warped_by_vectors({&from, &map, &weights, pitch, image, mask});
  return warped_sums<std::uint8_t>(counted, sum, squares);
}

}  // namespace xcorr::cpu
#endif
