// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage local_rescore, in plain loops: bit for bit as its header defines it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "oracle/oracle.hpp"
#include "oracle/reference_types.hpp"
#include "stages/common/rows.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"

namespace xcorr::cpu {
namespace {

/// The planes of an image by the stage warp_template.
template <class T>
struct Images {
  std::vector<T> pixels;
  std::vector<std::uint8_t> mask;  ///< how often each counts
};

/// The mean of the weights at a pixel's samples, each of the four round it.
template <class T>
std::uint8_t weight_of(const WarpedTemplate<T>& from, const WarpMap& map, int x, int y) {
  const int samples = 1 << map.log2_samples;
  const WarpedPlaces places(from, map);
  const std::uint8_t* const first = from.mask + from.pitch + 1;
  double sum = 0;
  for (int j = y * samples; j < (y + 1) * samples; ++j)
    for (int i = x * samples; i < (x + 1) * samples; ++i) {
      const WarpedPlace u = places.u.at(i, j), v = places.v.at(i, j);
      for (int k = 0; k < 4; ++k) {
        const double share = std::abs((1 - k % 2) - u.fraction() / 128.0) *
                             std::abs((1 - k / 2) - v.fraction() / 128.0);
        if (share > 0)
          sum += share * first[std::int64_t{v.whole() + k / 2} * from.pitch + u.whole() + k % 2];
      }
    }
  return static_cast<std::uint8_t>(std::floor(sum / (samples * samples) + 0.5));
}

template <class T>
Images<T> images_of(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
                    const WarpMap& map) {
  const Size size{map.width, map.height};
  Images<T> made{std::vector<T>(p.planes * size.area()), std::vector<std::uint8_t>(size.area())};
  stage::WarpTemplate::Problem warping{p.pyramid, p.masking, size, 1, 0, 0, p.type, p.edges};
  warping.edges.plane = size.area();
  const auto* const stage = oracle::variant_for<stage::WarpTemplate>(warping).value();
  WarpedTemplateSums unused{};
  for (int plane = 0; plane < (p.edges.made ? 1 : p.planes); ++plane)
    stage->launch(warping, Device(),
                  {{},
                   b.pixels + plane * p.pyramid.area() * static_cast<std::int64_t>(sizeof(T)),
                   b.mask,
                   &map,
                   made.pixels.data() + plane * size.area(),
                   made.mask.data(),
                   &unused},
                  nullptr);
  if (!p.masking.weighted) return made;
  const WarpedTemplate from(p.pyramid, row_of<T>(b.pixels, 0, 0), b.mask, map.level);
  for (std::int64_t i = 0; i < size.area(); ++i)
    if (made.mask[i])
      made.mask[i] =
          weight_of(from, map, static_cast<int>(i % size.width), static_cast<int>(i / size.width));
  return made;
}

/// \param Term  in which sums are put together
template <class T, class Term>
RescoredPlace local_rescore_one(const stage::LocalRescore::Problem& p,
                                const stage::LocalRescore::Buffers& b,
                                const stage::LocalRescore::Try& one) {
  const WarpMap map = stage::LocalRescore::map_of(p, b, one);
  const Images<T> images = images_of<T>(p, b, map);
  const Term n = std::accumulate(images.mask.begin(), images.mask.end(), std::int64_t{0});
  RescoredPlace best{};
  if (n == 0) return best;
  const int left = static_cast<int>(std::floor((one.twice_x - map.width + 1) / 2.0));
  const int top = static_cast<int>(std::floor((one.twice_y - map.height + 1) / 2.0));
  for (int y = top - 2; y <= top + 2; ++y)
    for (int x = left - 2; x <= left + 2; ++x) {
      if (x < 0 || y < 0 || x + map.width > p.frame.width || y + map.height > p.frame.height)
        continue;
      const auto terms_of_plane = [&](int plane) {
        const T* const image = images.pixels.data() + std::int64_t{plane} * map.width * map.height;
        WindowTerms<Term> terms{n, 0, 0, 0, 0, 0};
        for (int v = 0; v < map.height; ++v)
          for (int u = 0; u < map.width; ++u) {
            const std::int64_t at = std::int64_t{v} * map.width + u;
            const Term w = images.mask[at];
            const auto t = static_cast<Term>(image[at]);
            const Term f = row_of<T>(b.frame + plane * p.plane, p.pitch, y + v)[x + u];
            terms.product += w * f * t;
            terms.left_sum += w * f;
            terms.left_squares += w * f * f;
            terms.right_sum += w * t;
            terms.right_squares += w * t * t;
          }
        return score_terms(p.method, terms);
      };
      auto terms = terms_of_plane(0);
      for (int plane = 1; plane < p.planes; ++plane) terms += terms_of_plane(plane);
      const double spread = std::sqrt(static_cast<double>(terms.left_variance) / p.planes);
      if (spread < p.contrast.least * static_cast<double>(n)) continue;
      const double here = score(p.method, terms);
      if (!best.is_inside ||
          (info(p.method).minimum ? here < best.score
                                  : sign_of(p.contrast.polarity, here) * here >
                                        sign_of(p.contrast.polarity, best.score) * best.score))
        best = {here, 2 * x + map.width - 1, 2 * y + map.height - 1, one.pose, 1, 0};
    }
  return best;
}

template <class T>
void local_rescore_as(const stage::LocalRescore::Problem& p,
                      const stage::LocalRescore::Buffers& b) {
  for (int i = 0; i < *b.candidate_count; ++i)
    for (int k = 0; k < p.tries(); ++k) {
      const stage::LocalRescore::Try one = stage::LocalRescore::try_of(p, b, i, k);
      const auto rescore =
          p.masking.weighted
              ? local_rescore_one<T, std::conditional_t<std::is_integral_v<T>, Int128, double>>
              : local_rescore_one<T, TermOf<T>>;
      b.found[i * p.tries() + k] = one.exists ? rescore(p, b, one) : RescoredPlace{};
    }
}

Status local_rescore(const stage::LocalRescore::Problem& p, const Device&,
                     const stage::LocalRescore::Buffers& b, PlanState*) {
  return for_type(local_rescore_as<std::uint8_t>, local_rescore_as<std::uint16_t>,
                  local_rescore_as<float>, p, b);
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes, Feature::weights}},
     {.launch = local_rescore}},
};

}  // namespace

Family reference_local_rescore_family() { return Family(table); }

}  // namespace xcorr::cpu
