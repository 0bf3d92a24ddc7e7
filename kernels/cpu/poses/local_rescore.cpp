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

#include "cpu/common/common.hpp"
#include "cpu/poses/warped.hpp"
#include "stages/common/rows.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cpu::local_rescore {

template <class T>
struct Sums {
  SumOf<T> product = 0, sum = 0, squares = 0;
};

/// An image and the window that it is compared with.
template <class T>
struct Job {
  const T* window;
  std::int64_t window_pitch;  ///< bytes
  const T* image;
  const std::uint8_t* mask;
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
    const std::uint8_t* t = job.image + std::int64_t{y} * job.width + part.x;
    const std::uint8_t* m = job.mask + std::int64_t{y} * job.width + part.x;
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
    const T* t = job.image + std::int64_t{y} * job.width;
    const std::uint8_t* m = job.mask + std::int64_t{y} * job.width;
    for (int x = 0; x < job.width; ++x) {
      const SumOf<T> counted = m[x] ? f[x] : T{0};
      sums.product += counted * t[x];
      sums.sum += counted;
      sums.squares += counted * counted;
    }
  }
  return sums;
}

template <class T>
RescoredPlace local_rescore(const stage::LocalRescore::Problem& p,
                            const stage::LocalRescore::Buffers& b,
                            const stage::LocalRescore::Try& one) {
  const WarpMap map = stage::LocalRescore::map_of(p, b, one);
  const Size size{map.width, map.height};
  std::vector<T> image(p.planes * size.area());
  std::vector<std::uint8_t> mask(size.area());
  std::vector<WarpedTemplateSums> rights;
  for (int plane = 0; plane < p.planes; ++plane) {
    const T* const pixels = row_of<T>(b.pixels, 0, 0) + plane * p.pyramid.area();
    const WarpedTemplate from(p.pyramid, pixels, b.mask, map.level);
    rights.push_back(warped(from, map, map.width, image.data() + plane * size.area(), mask.data()));
  }
  const RescorePlace expected{map.width, map.height, one.twice_x, one.twice_y};
  const bool minimum = info(p.method).minimum;
  const int reach = stage::LocalRescore::reach;
  RescoredPlace best{};
  if (rights[0].counted == 0) return best;
  const auto terms_at = [&](int x, int y, int plane) {
    const Sums<T> sums =
        compared(Job<T>{row_of<T>(b.frame + plane * p.plane, p.pitch, y) + x, p.pitch,
                        image.data() + plane * size.area(), mask.data(), size.width, size.height});
    const WarpedTemplateSums& right = rights[plane];
    using Term = TermOf<T>;
    return ScoreTerms<Term>(WindowTerms<Term>{Term(right.counted), sums.product, sums.sum,
                                              sums.squares, Term(right.sums.sum),
                                              Term(right.sums.squares)});
  };
  for (int y = expected.top() - reach; y <= expected.top() + reach; ++y)
    for (int x = expected.left() - reach; x <= expected.left() + reach; ++x) {
      if (x < 0 || y < 0 || x > p.frame.width - size.width || y > p.frame.height - size.height)
        continue;
      auto terms = terms_at(x, y, 0);
      for (int plane = 1; plane < p.planes; ++plane) terms += terms_at(x, y, plane);
      if (!p.admits(terms.n, terms.left_variance)) continue;
      const double here = score(p.method, terms);
      if (!best.is_inside || p.better(minimum, here, best.score))
        best = {here, 2 * x + size.width - 1, 2 * y + size.height - 1, one.pose, 1, 0};
    }
  return best;
}

template <class T>
void local_rescore_all(const stage::LocalRescore::Problem& p,
                       const stage::LocalRescore::Buffers& b) {
  parallel_for(0, *b.candidate_count * p.tries(), [&](int i) {
    const stage::LocalRescore::Try one =
        stage::LocalRescore::try_of(p, b, i / p.tries(), i % p.tries());
    b.found[i] = one.exists ? local_rescore<T>(p, b, one) : RescoredPlace{};
  });
}

Status launch(const stage::LocalRescore::Problem& p, const Device&,
              const stage::LocalRescore::Buffers& b, PlanState*) {
  const auto run = p.type == ElementType::u8    ? local_rescore_all<std::uint8_t>
                   : p.type == ElementType::u16 ? local_rescore_all<std::uint16_t>
                                                : local_rescore_all<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes}},
     {.launch = launch}},
};

}  // namespace local_rescore

Family local_rescore_family() { return Family(local_rescore::table); }

}  // namespace xcorr::cpu
#endif
