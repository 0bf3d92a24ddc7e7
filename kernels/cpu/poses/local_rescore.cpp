// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of warped templates at the places near the expected ones on the CPU, one task per
// image.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/poses/local_rescore.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/common/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_PROBE_JOB
#define XCORR_CPU_PROBE_JOB
#include <vector>

#include "cpu/poses/rescored.hpp"
#include "cpu/poses/warped.hpp"
#include "stages/common/rows.hpp"
#include "stages/match/overhang.hpp"

namespace xcorr::cpu::local_rescore {

template <class T>
struct Sums {
  SumOf<T> product = 0, sum = 0, squares = 0;
};

/// A part of an image and the part of a window that it is compared with.
template <class T>
struct Job {
  const T* window;
  std::int64_t window_pitch;  ///< bytes
  const T* image;
  const std::uint8_t* mask;
  std::int64_t pitch;  ///< of image and mask, pixels
  int width, height;
};

}  // namespace xcorr::cpu::local_rescore
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::local_rescore::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

/// So many pixels have sums of squares that fit into 32 bits.
constexpr int most = 1 << 16;

/// Over some rows and columns.
HWY_INLINE void add_part(const Job<std::uint8_t>& job, const Rect& part, Sums<std::uint8_t>& sums) {
  using V = BytePairs::V;
  const V ones = BytePairs::broadcast(0x00010001u);
  auto product = BytePairs::zero(), sum = product, squares = product;
  for (int y = part.y; y < part.y + part.height; ++y) {
    const std::uint8_t* f = job.window + y * job.window_pitch + part.x;
    const std::uint8_t* t = job.image + y * job.pitch + part.x;
    const std::uint8_t* m = job.mask + y * job.pitch + part.x;
    const auto add = [&](V window, V image, V counts) HWY_ATTR {
      // Pairs of 0 and 1 become pairs of 0 and 0xffff.
      const V counted = hn::And(window, hn::Sub(hn::ShiftLeft<16>(counts), counts));
      BytePairs::add(product, counted, image);
      BytePairs::add(sum, counted, ones);
      BytePairs::add(squares, counted, counted);
    };
    int x = 0;
    for (; x + BytePairs::pixels <= part.width; x += BytePairs::pixels)
      add(BytePairs::load_pixels(f + x), BytePairs::load_pixels(t + x),
          BytePairs::load_pixels(m + x));
    if (const int rest = part.width - x; rest > 0)
      add(BytePairs::load_first_pixels(f + x, rest), BytePairs::load_first_pixels(t + x, rest),
          BytePairs::load_first_pixels(m + x, rest));
  }
  sums.product += BytePairs::total(product);
  sums.sum += BytePairs::total(sum);
  sums.squares += BytePairs::total(squares);
}

Sums<std::uint8_t> sums_of(const Job<std::uint8_t>& job) {
  Sums<std::uint8_t> sums;
  for (int x = 0; x < job.width; x += most) {
    const int width = std::min(most, job.width - x), rows = most / width;
    for (int y = 0; y < job.height; y += rows)
      add_part(job, {x, y, width, std::min(rows, job.height - y)}, sums);
  }
  return sums;
}

}  // namespace xcorr::cpu::local_rescore::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace local_rescore {

HWY_EXPORT(sums_of);

Sums<std::uint8_t> compared(const Job<std::uint8_t>& job) {
  return HWY_DYNAMIC_DISPATCH(sums_of)(job);
}

template <class T>
Sums<T> compared(const Job<T>& job) {
  Sums<T> sums;
  for (int y = 0; y < job.height; ++y) {
    const T* f = row_of<T>(job.window, job.window_pitch, y);
    const T* t = job.image + y * job.pitch;
    const std::uint8_t* m = job.mask + y * job.pitch;
    for (int x = 0; x < job.width; ++x) {
      const SumOf<T> counted = m[x] ? f[x] : T{0};
      sums.product += counted * t[x];
      sums.sum += counted;
      sums.squares += counted * counted;
    }
  }
  return sums;
}

/// What a part of an image is, over the pixels of it that count.
template <class T>
struct RightSums {
  TermOf<T> counted = 0, sum = 0, squares = 0;
};

/// The image of a try.
template <class T>
class Image {
 public:
  Image(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
        const WarpMap& map)
      : size_{map.width, map.height}, pixels_(p.planes * size_.area()), mask_(size_.area()) {
    if constexpr (sizeof(T) == 1)
      if (p.edges.made) make_edges(p, b, map);
    for (int plane = 0; plane < p.planes && !p.edges.made; ++plane) {
      const T* const pixels = row_of<T>(b.pixels, 0, 0) + plane * p.pyramid.area();
      const WarpedTemplate from(p.pyramid, pixels, b.mask, map.level);
      const WarpedTemplateSums sums =
          warped(from, map, map.width, pixels_.data() + plane * size_.area(), mask_.data());
      add_whole(sums);
    }
  }

  /// Call before part_at() where it may stick out.
  void find_counted() {
    int left = size_.width, top = size_.height, right = 0, bottom = 0;
    for_counted({0, 0, size_.width, size_.height}, [&](int x, int y) {
      left = std::min(left, x);
      top = std::min(top, y);
      right = std::max(right, x + 1);
      bottom = y + 1;
    });
    counted_ = {left, top, right - left, bottom - top};
  }

  std::int64_t counted() const { return static_cast<std::int64_t>(whole_[0].counted); }
  /// What of it is compared where it begins at (x, y): nothing where it may not lie.
  Rect part_at(const stage::LocalRescore::Problem& p, int x, int y) const {
    const Overhang frame{{0, 0, p.frame.width, p.frame.height}};
    const Rect seen = frame.seen(x, y, size_), all{0, 0, size_.width, size_.height};
    if (seen == all) return all;
    if (p.overhang < 0 || seen.empty()) return {};
    const bool is_all = counted_.x >= seen.x && counted_.y >= seen.y &&
                        counted_.x + counted_.width <= seen.x + seen.width &&
                        counted_.y + counted_.height <= seen.y + seen.height;
    if (is_all) return counted_;
    return Overhang::permits(p.overhang, static_cast<double>(counted()),
                             static_cast<double>(sums_of(seen, 0).counted))
               ? seen
               : Rect{};
  }
  ScoreTerms<TermOf<T>> terms(const stage::LocalRescore::Problem& p,
                              const stage::LocalRescore::Buffers& b, int x, int y, int plane,
                              const Rect& part) const {
    const std::int64_t at = std::int64_t{part.y} * size_.width + part.x;
    const Sums<T> sums = compared(
        Job<T>{row_of<T>(b.frame + plane * p.plane, p.pitch, y + part.y) + x + part.x, p.pitch,
               plane_of(plane) + at, mask_.data() + at, size_.width, part.width, part.height});
    const bool is_all = part.size() == size_ || part == counted_;
    const RightSums<T> right = is_all ? whole_[plane] : sums_of(part, plane);
    using Term = TermOf<T>;
    return score_terms(p.method, WindowTerms<Term>{right.counted, sums.product, sums.sum,
                                                   sums.squares, right.sum, right.squares});
  }

 private:
  void make_edges(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
                  const WarpMap& map) {
    WarpEdges edges = p.edges;
    edges.plane = size_.area();
    for (const WarpedTemplateSums& sums :
         warped_edges(p.pyramid, b.pixels, b.mask, map, edges, size_.width, pixels_.data()))
      add_whole(sums);
    std::ranges::fill(mask_, 1);
  }
  void add_whole(const WarpedTemplateSums& sums) {
    whole_.push_back(
        {TermOf<T>(sums.counted), TermOf<T>(sums.sums.sum), TermOf<T>(sums.sums.squares)});
  }
  const T* plane_of(int plane) const { return pixels_.data() + plane * size_.area(); }
  template <class F>
  void for_counted(const Rect& part, F f) const {
    for (int y = part.y; y < part.y + part.height; ++y)
      for (int x = part.x; x < part.x + part.width; ++x)
        if (mask_[std::int64_t{y} * size_.width + x]) f(x, y);
  }
  RightSums<T> sums_of(const Rect& part, int plane) const {
    RightSums<T> sums;
    for_counted(part, [&](int x, int y) {
      const TermOf<T> t = plane_of(plane)[std::int64_t{y} * size_.width + x];
      sums.counted += 1;
      sums.sum += t;
      sums.squares += t * t;
    });
    return sums;
  }

  Size size_;
  std::vector<T> pixels_;  ///< of all planes
  std::vector<std::uint8_t> mask_;
  std::vector<RightSums<T>> whole_;
  Rect counted_;  ///< all that counts lies in it
};

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes, Feature::overhang}},
     {.launch = rescore_all<Image>}},
};

}  // namespace local_rescore

Family local_rescore_family() { return Family(local_rescore::table); }

}  // namespace xcorr::cpu
#endif
