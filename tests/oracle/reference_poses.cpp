// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages that make images at poses and score them, in plain loops: bit for bit
// as their headers define them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/reference_types.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/local_rescore.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void pyramid_down_as(const stage::PyramidDown::Problem& p, const stage::PyramidDown::Buffers& b) {
  for (int y = 0; y < p.half.height; ++y)
    for (int x = 0; x < p.half.width; ++x) {
      double sum = 0;
      for (int i = 0; i < 4; ++i)
        sum += row_of<T>(
            b.pixels, p.pitch,
            std::clamp(
                2 * y + i / 2 - p.before, 0,
                p.image.height - 1))[std::clamp(2 * x + i % 2 - p.before, 0, p.image.width - 1)];
      const double mean = std::is_floating_point_v<T> ? sum / 4 : std::floor((sum + 2) / 4);
      row_of<T>(b.halved, p.half_pitch, y)[x] = static_cast<T>(mean);
    }
}

Status pyramid_down(const stage::PyramidDown::Problem& p, const Device&,
                    const stage::PyramidDown::Buffers& b, PlanState*) {
  return for_type(pyramid_down_as<std::uint8_t>, pyramid_down_as<std::uint16_t>,
                  pyramid_down_as<float>, p, b);
}

// ---- warp_template
// -----------------------------------------------------------------------------------

/// Rounded down, also below 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// A coordinate in a level of the template in 128ths of a pixel, rounded to the nearest, from twice
/// the samples between a place and the image's centre. `length`: the template's; `shift`: of the
/// image's centre.
std::int64_t place_in(int length, int level, std::int64_t shift, std::int64_t by_x, std::int64_t x,
                      std::int64_t by_y, std::int64_t y) {
  const std::int64_t from_centre = by_x * x + by_y * y + shift, unit = std::int64_t{1} << 24;
  const std::int64_t twice_centre = floor_div(length * unit, std::int64_t{1} << level) - unit;
  return floor_div(2 * from_centre + twice_centre + (1 << 17), 1 << 18);
}

/// Cubic convolution's kernel at the pixel, in 2048ths; `pixel` is -1 to 2.
int cubic_weight(int pixel, std::int64_t fraction) {
  if (pixel == 0)
    return 2048 - cubic_weight(-1, fraction) - cubic_weight(1, fraction) -
           cubic_weight(2, fraction);
  // Keys' polynomials with a = -1/2, of the distance in 128ths.
  const std::int64_t d = std::abs(pixel * 128 - fraction), one = 128;
  const std::int64_t twice =
      d <= one ? 3 * d * d * d - 5 * d * d * one + 2 * one * one * one
               : -d * d * d + 5 * d * d * one - 8 * d * one * one + 4 * one * one * one;
  return static_cast<int>(floor_div(twice + 1024, 2048));
}

/// Pixels, and sums of weighed ones: integers of those that are. Of others sums round, so that
/// their order matters: rows first.
template <class T>
using WideOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

template <class T>
struct Sample {
  bool counts = true;
  WideOf<T> value = 0;  ///< 256 times
};

/// The nearest integer, if it is to be one.
template <class T>
WideOf<T> divided(WideOf<T> sum, std::int64_t unit) {
  if constexpr (std::is_floating_point_v<T>)
    return sum / unit;
  else
    return floor_div(sum + unit / 2, unit);
}

template <class T>
Sample<T> sample(const stage::WarpTemplate::Problem& p, const stage::WarpTemplate::Buffers& b,
                 int level, std::int64_t u, std::int64_t v) {
  const auto [width, height] = p.pyramid.size_of(level);
  const std::int64_t begin = p.pyramid.begin_of(level);
  const std::int64_t left = floor_div(u, 128), top = floor_div(v, 128);
  Sample<T> made;
  for (int j = -1; j <= 2; ++j) {
    WideOf<T> in_row = 0;
    for (int i = -1; i <= 2; ++i) {
      const std::int64_t x = left + i, y = top + j;
      const bool mixed = i >= 0 && j >= 0 && i <= (u % 128 != 0) && j <= (v % 128 != 0);
      const bool inside = x >= 0 && y >= 0 && x < width && y < height;
      if (mixed && (!inside || (p.masking && !b.mask[begin + y * width + x]))) made.counts = false;
      const WideOf<T> pixel = static_cast<const T*>(
          b.pixels)[begin + std::clamp<std::int64_t>(y, 0, height - 1) * width +
                    std::clamp<std::int64_t>(x, 0, width - 1)];
      in_row += pixel * cubic_weight(i, u - 128 * left);
    }
    made.value += in_row * cubic_weight(j, v - 128 * top);
  }
  made.value = divided<T>(made.value, 1 << 14);
  return made;
}

template <class T>
void warp_template_as(const stage::WarpTemplate::Problem& p,
                      const stage::WarpTemplate::Buffers& b) {
  T* const images = static_cast<T*>(b.images);
  std::fill_n(images, p.count * p.most.area(), T{0});
  std::fill_n(b.masks, p.count * p.most.area(), std::uint8_t{0});
  for (int i = 0; i < p.count; ++i) {
    const WarpMap& m = b.maps[i];
    const int samples = 1 << m.log2_samples;
    std::int64_t counted = 0;
    TermOf<T> sum = 0, squares = 0;
    for (int y = 0; y < m.height; ++y)
      for (int x = 0; x < m.width; ++x) {
        Sample<T> mean;
        for (int k = 0; k < samples * samples; ++k) {
          const std::int64_t across = 2 * (x * samples + k % samples) + 1 - m.width * samples;
          const std::int64_t down = 2 * (y * samples + k / samples) + 1 - m.height * samples;
          const Size size = p.pyramid.size;
          const Sample<T> one = sample<T>(
              p, b, m.level,
              place_in(size.width, m.level, p.shift_u, m.u_by_x, across, m.u_by_y, down),
              place_in(size.height, m.level, p.shift_v, m.v_by_x, across, m.v_by_y, down));
          mean.counts = mean.counts && one.counts;
          mean.value += one.value;
        }
        if (!mean.counts) continue;
        WideOf<T> value = divided<T>(mean.value, std::int64_t{256} * samples * samples);
        if constexpr (!std::is_floating_point_v<T>)
          value = std::clamp<std::int64_t>(value, 0, std::numeric_limits<T>::max());
        const std::int64_t at = i * p.most.area() + std::int64_t{y} * p.most.width + x;
        images[at] = static_cast<T>(value);
        b.masks[at] = 1;
        ++counted;
        sum += static_cast<TermOf<T>>(images[at]);
        squares += static_cast<TermOf<T>>(images[at]) * images[at];
      }
    b.sums[i] = {{double(sum), double(squares), double(counted * squares - sum * sum)},
                 double(counted)};
  }
}

Status warp_template(const stage::WarpTemplate::Problem& p, const Device&,
                     const stage::WarpTemplate::Buffers& b, PlanState*) {
  return for_type(warp_template_as<std::uint8_t>, warp_template_as<std::uint16_t>,
                  warp_template_as<float>, p, b);
}

// ---- local_rescore
// ----------------------------------------------------------------------------------

/// An image by the stage warp_template.
template <class T>
struct Image {
  std::vector<T> pixels;
  std::vector<std::uint8_t> mask;
  WarpedTemplateSums sums{};
};

template <class T>
Image<T> image_of(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
                  const WarpMap& map, int plane) {
  const Size size{map.width, map.height};
  Image<T> made{std::vector<T>(size.area()), std::vector<std::uint8_t>(size.area())};
  warp_template_as<T>({p.pyramid, p.masking, size, 1, 0, 0, p.type},
                      {{},
                       b.pixels + plane * p.pyramid.area() * static_cast<std::int64_t>(sizeof(T)),
                       b.mask,
                       &map,
                       made.pixels.data(),
                       made.mask.data(),
                       &made.sums});
  return made;
}

template <class T>
RescoredPlace local_rescore_one(const stage::LocalRescore::Problem& p,
                                const stage::LocalRescore::Buffers& b,
                                const stage::LocalRescore::Try& one) {
  const WarpMap map = stage::LocalRescore::map_of(p, b, one);
  using Term = TermOf<T>;
  std::vector<Image<T>> images;
  for (int plane = 0; plane < p.planes; ++plane) images.push_back(image_of<T>(p, b, map, plane));
  const Term n = images[0].sums.counted;
  RescoredPlace best{};
  if (n == 0) return best;
  const int left = static_cast<int>(floor_div(one.twice_x - map.width + 1, 2));
  const int top = static_cast<int>(floor_div(one.twice_y - map.height + 1, 2));
  for (int y = top - 2; y <= top + 2; ++y)
    for (int x = left - 2; x <= left + 2; ++x) {
      if (x < 0 || y < 0 || x + map.width > p.frame.width || y + map.height > p.frame.height)
        continue;
      const auto terms_of_plane = [&](int plane) {
        const Image<T>& image = images[plane];
        WindowTerms<Term> terms{
            n, 0, 0, 0, Term(image.sums.sums.sum), Term(image.sums.sums.squares)};
        for (int v = 0; v < map.height; ++v)
          for (int u = 0; u < map.width; ++u) {
            const std::int64_t at = std::int64_t{v} * map.width + u;
            if (!image.mask[at]) continue;
            const Term f = row_of<T>(b.frame + plane * p.plane, p.pitch, y + v)[x + u];
            terms.product += f * static_cast<Term>(image.pixels[at]);
            terms.left_sum += f;
            terms.left_squares += f * f;
          }
        return ScoreTerms<Term>(terms);
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
      b.found[i * p.tries() + k] = one.exists ? local_rescore_one<T>(p, b, one) : RescoredPlace{};
    }
}

Status local_rescore(const stage::LocalRescore::Problem& p, const Device&,
                     const stage::LocalRescore::Buffers& b, PlanState*) {
  return for_type(local_rescore_as<std::uint8_t>, local_rescore_as<std::uint16_t>,
                  local_rescore_as<float>, p, b);
}

// ---------------------------------------------------------------------------------------------

constexpr Features any = Features(Feature::u8, Feature::u16, Feature::f32);
constexpr Variant<stage::PyramidDown> pyramid_down_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any}, {.launch = pyramid_down}},
};
constexpr Variant<stage::WarpTemplate> warp_template_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any | Feature::mask},
     {.launch = warp_template}},
};
constexpr Variant<stage::LocalRescore> local_rescore_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = any | Features(Feature::mask, Feature::contrast, Feature::planes)},
     {.launch = local_rescore}},
};

}  // namespace

Family reference_poses_family() {
  return Family(pyramid_down_table, warp_template_table, local_rescore_table);
}

}  // namespace xcorr::cpu
