// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What all ways to rescore on the CPU share: the best place of a try, one task a try.
#pragma once

#include "cpu/common/common.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cpu {

/// \param Image  of a try, made of (problem, buffers, map): `counted()` of it; `part_at(p, x, y)`,
///     what of it is compared where it begins there, after find_counted() also where it sticks out;
///     `terms(p, b, x, y, plane, part)` of a score
template <class Image>
RescoredPlace rescored(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
                       const stage::LocalRescore::Try& one) {
  const WarpMap map = stage::LocalRescore::map_of(p, b, one);
  Image image(p, b, map);
  const RescorePlace expected{map.width, map.height, one.twice_x, one.twice_y};
  const bool minimum = info(p.method).minimum;
  const int reach = stage::LocalRescore::reach;
  RescoredPlace best{};
  if (image.counted() == 0) return best;
  const int left = expected.left() - reach, top = expected.top() - reach;
  const bool is_inside = left >= 0 && top >= 0 && left + map.width + 2 * reach <= p.frame.width &&
                         top + map.height + 2 * reach <= p.frame.height;
  if (!is_inside && p.overhang >= 0) image.find_counted();
  for (int y = expected.top() - reach; y <= expected.top() + reach; ++y)
    for (int x = expected.left() - reach; x <= expected.left() + reach; ++x) {
      const Rect part = image.part_at(p, x, y);
      if (part.empty()) continue;
      auto terms = image.terms(p, b, x, y, 0, part);
      for (int plane = 1; plane < p.planes; ++plane) terms += image.terms(p, b, x, y, plane, part);
      if (!p.admits(terms.n, terms.left_variance)) continue;
      const double here = score(p.method, terms);
      if (!best.is_inside || p.better(minimum, here, best.score))
        best = {here, 2 * x + map.width - 1, 2 * y + map.height - 1, one.pose, 1, 0};
    }
  return best;
}

template <class Image>
Status rescore_all(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b) {
  parallel_for(0, *b.candidate_count * p.tries(), [&](int i) {
    const stage::LocalRescore::Try one =
        stage::LocalRescore::try_of(p, b, i / p.tries(), i % p.tries());
    b.found[i] = one.exists ? rescored<Image>(p, b, one) : RescoredPlace{};
  });
  return {};
}

/// \param Image  of a type of pixels
template <template <class> class Image>
Status rescore_all(const stage::LocalRescore::Problem& p, const Device&,
                   const stage::LocalRescore::Buffers& b, PlanState*) {
  return p.type == ElementType::u8    ? rescore_all<Image<std::uint8_t>>(p, b)
         : p.type == ElementType::u16 ? rescore_all<Image<std::uint16_t>>(p, b)
                                      : rescore_all<Image<float>>(p, b);
}

}  // namespace xcorr::cpu
