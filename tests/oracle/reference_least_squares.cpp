// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages of least squares: smooth as its header defines it, pose_refine and
// subpixel_refine in long double by elimination.
#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/reference_methods.hpp"
#include "oracle/reference_types.hpp"
#include "stages/match/subpixel_refine.hpp"
#include "stages/poses/pose_refine.hpp"

namespace xcorr::cpu {
namespace {

using Wide = long double;

// ---- smooth ---------------------------------------------------------------------------------

/// Of integers, which are exact in double, the quotient in single precision.
template <class T>
void smooth_as(const stage::Smooth::Problem& p, const stage::Smooth::Buffers& b) {
  const double spline[] = {1, 4, 1}, slope[] = {-1, 0, 1};
  for (std::int64_t i = 0; i < p.size.area(); ++i) {
    double value = 0, by_u = 0, by_v = 0;
    for (int k = 0; k < 9 && b.counted[i]; ++k) {
      const double pixel =
          static_cast<const T*>(b.pixels)[i + (k / 3 - 1) * p.size.width + k % 3 - 1];
      value += spline[k % 3] * spline[k / 3] * pixel;
      by_u += slope[k % 3] * spline[k / 3] * pixel;
      by_v += spline[k % 3] * slope[k / 3] * pixel;
    }
    b.smoothed[i].value = static_cast<float>(value / 36);
    b.smoothed[i].by_u = static_cast<float>(by_u / 12);
    b.smoothed[i].by_v = static_cast<float>(by_v / 12);
    b.smoothed[i].counts = b.counted[i] ? 1 : 0;
  }
}

Status smooth(const stage::Smooth::Problem& p, const Device&, const stage::Smooth::Buffers& b,
              PlanState*) {
  return for_type(smooth_as<std::uint8_t>, smooth_as<std::uint16_t>, smooth_as<float>, p, b);
}

// ---- pose_refine
// ----------------------------------------------------------------------------------

Wide spline(Wide distance) {
  const Wide d = std::abs(distance);
  return d < 1 ? (4 - 6 * d * d + 3 * d * d * d) / 6 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
}

/// The pixels of `frame`, smoothed.
template <class T>
Wide smoothed(const void* frame, std::int64_t pitch, Size size, Wide x, Wide y) {
  const auto left = static_cast<std::int64_t>(std::floor(x)),
             top = static_cast<std::int64_t>(std::floor(y));
  Wide value = 0;
  for (std::int64_t j = top - 1; j <= top + 2; ++j)
    for (std::int64_t i = left - 1; i <= left + 2; ++i)
      value +=
          spline(x - i) * spline(y - j) *
          row_of<T>(frame, pitch,
                    std::clamp<std::int64_t>(
                        j, 0, size.height - 1))[std::clamp<std::int64_t>(i, 0, size.width - 1)];
  return value;
}

/// The solution of rows of coefficients with the right side last; false where there is none.
bool eliminate(std::vector<std::vector<Wide>> rows, std::vector<Wide>& solution) {
  const std::size_t n = rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Wide whole = rows[i][n + 1];  // the diagonal as it was
    if (!(rows[i][i] > 1e-9 * whole)) return false;
    for (std::size_t k = i + 1; k < n; ++k) {
      const Wide factor = rows[k][i] / rows[i][i];
      for (std::size_t j = i; j <= n; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  solution.assign(n, 0);
  for (std::size_t i = n; i-- > 0;) {
    solution[i] = rows[i][n];
    for (std::size_t j = i + 1; j < n; ++j) solution[i] -= rows[i][j] * solution[j];
    solution[i] /= rows[i][i];
  }
  return true;
}

template <class T>
PoseRefinement pose_refine(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                           const RefinedPose& start) {
  RefinedPose pose = start;
  Wide angle = std::atan2(start.sine, start.cosine);
  const Wide first_angle = angle;
  const Wide radius = (p.size.width + p.size.height) / 4.0L * start.scale;
  std::vector<int> free{0, 1};
  if (p.freedom.turns) free.push_back(2);
  if (p.freedom.scales) free.push_back(3);
  free.push_back(4);
  for (int plane = 0; plane < p.planes; ++plane) free.push_back(5 + plane);  // an offset each
  const std::size_t poses = free.size() - 1 - p.planes;
  Wide first_fit = 0, fit = 0;
  for (int step = 0; step < 6; ++step) {
    Wide products = 0, t_variance = 0, f_variance = 0;
    const Wide c = std::cos(angle), s = std::sin(angle), z = pose.scale;
    const std::size_t n = free.size();
    std::vector<std::vector<Wide>> rows(n, std::vector<Wide>(n + 2, 0));
    for (int plane = 0; plane < p.planes; ++plane) {
      Wide count = 0, t_sum = 0, t_squares = 0, f_sum = 0, f_squares = 0, product = 0;
      for (std::int64_t at = 0; at < p.size.area(); ++at) {
        const auto u = static_cast<int>(at % p.size.width), v = static_cast<int>(at / p.size.width);
        const SmoothedPixel& t = b.smoothed[plane * p.size.area() + at];
        if (!t.counts) continue;
        const Wide du = u - (p.size.width - 1) / 2.0L, dv = v - (p.size.height - 1) / 2.0L;
        const Wide dx = z * (c * du + s * dv), dy = z * (c * dv - s * du);
        const Wide gx = (c * t.by_u + s * t.by_v) / z, gy = (c * t.by_v - s * t.by_u) / z;
        std::vector<Wide> all{gx, gy, (gx * dy - gy * dx) / radius, (gx * dx + gy * dy) / radius,
                              t.value};
        all.resize(5 + p.planes);
        all[5 + plane] = 1;
        const Wide frame =
            smoothed<T>(b.frame + plane * p.plane, p.pitch, p.frame, pose.x + dx, pose.y + dy);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) rows[i][j] += all[free[i]] * all[free[j]];
          rows[i][n] += all[free[i]] * frame;
        }
        count += 1;
        t_sum += t.value;
        t_squares += Wide(t.value) * t.value;
        f_sum += frame;
        f_squares += frame * frame;
        product += t.value * frame;
      }
      products += product - t_sum * f_sum / count;
      t_variance += t_squares - t_sum * t_sum / count;
      f_variance += f_squares - f_sum * f_sum / count;
    }
    for (std::size_t i = 0; i < n; ++i) rows[i][n + 1] = rows[i][i];
    std::vector<Wide> solution;
    if (!eliminate(rows, solution)) return {start, 0};
    const Wide gain = solution[poses];
    const int sign = sign_of(p.freedom.polarity, double(gain));
    if (!(sign * gain > 0)) return {start, 0};
    fit = sign * products / std::sqrt(t_variance * f_variance);
    if (step == 0) first_fit = fit;
    Wide moved[4] = {}, longest = 0;
    for (std::size_t i = 0; i < poses; ++i) {
      moved[free[i]] = std::clamp<Wide>(-solution[i] / gain, -1, 1);
      longest = std::max(longest, std::abs(moved[free[i]]));
    }
    angle += moved[2] / radius;
    pose = {double(pose.x + moved[0]), double(pose.y + moved[1]), double(std::cos(angle)),
            double(std::sin(angle)), double(pose.scale * (1 + moved[3] / radius))};
    if (std::abs(pose.x - start.x) > 2 || std::abs(pose.y - start.y) > 2 ||
        std::abs(angle - first_angle) * radius > 3 ||
        std::abs(pose.scale / start.scale - 1) * radius > 3)
      return {start, 0};
    if (longest <= 1e-4L) break;
  }
  if (fit < first_fit - 0.05L) return {start, 0};
  return {pose, 1};
}

template <class T>
void pose_refine_as(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b) {
  for (int i = 0; i < p.count; ++i)
    b.refinements[i] =
        b.starts[i].scale == 0 ? PoseRefinement{} : pose_refine<T>(p, b, b.starts[i]);
}

Status pose_refine_all(const stage::PoseRefine::Problem& p, const Device&,
                       const stage::PoseRefine::Buffers& b, PlanState*) {
  return for_type(pose_refine_as<std::uint8_t>, pose_refine_as<std::uint16_t>,
                  pose_refine_as<float>, p, b);
}

// ---- subpixel_refine
// ---------------------------------------------------------------------------------

/// The template's smoothed pixel and its slopes, by the spline's derivative at whole pixels.
struct Terms {
  Wide of[4];  ///< slopes, value, 1

  template <class T>
  Terms(const plain::Matrix<T>& pattern, Wide mean, int x, int y) : of{0, 0, -mean, 1} {
    const auto slope = [](int i) { return i / 2.0L; };
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) {
        const Wide pixel = pattern.at(x + i, y + j);
        of[0] += slope(i) * spline(j) * pixel;
        of[1] += slope(j) * spline(i) * pixel;
        of[2] += spline(i) * spline(j) * pixel;
      }
  }
};

/// A plane of a picture. `mean`: about that of the template, so that brightness hides no contrast.
template <class T>
struct Plane {
  plain::Matrix<T> window, pattern;
  Wide mean;
};

/// The unknowns are a step, a gain, and an offset for each plane.
template <class T>
FittedPlace subpixel_refine(const std::vector<Plane<T>>& planes, const std::uint8_t* inset,
                            const Rect& seen, Polarity polarity) {
  const Size size = planes[0].pattern.size;
  const std::size_t n = 3 + planes.size();
  Wide x = 0, y = 0, moved = 1;
  for (int step = 0; step < 40 && moved > 1e-4L; ++step) {
    std::vector<std::vector<Wide>> rows(n, std::vector<Wide>(n + 2, 0));
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
      for (int v = 2; v < size.height - 2; ++v)
        for (int u = 2; u < size.width - 2; ++u) {
          if (inset && !inset[std::int64_t{v} * size.width + u]) continue;
          if (u - 2 < seen.x || v - 2 < seen.y || u + 2 >= seen.x + seen.width ||
              v + 2 >= seen.y + seen.height)
            continue;
          const auto& [window, pattern, mean] = planes[plane];
          const Terms terms(pattern, mean, u, v);
          std::vector<Wide> all(terms.of, terms.of + 3);
          all.resize(n);
          all[3 + plane] = 1;
          const Wide frame = smoothed<T>(window.data, window.pitch, size, u + x, v + y);
          for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) rows[i][j] += all[i] * all[j];
            rows[i][n] += all[i] * frame;
          }
        }
    for (std::size_t i = 0; i < n; ++i) rows[i][n + 1] = rows[i][i];
    std::vector<Wide> solution;
    if (rows[3][3] < 16 || !eliminate(rows, solution)) return {0, 0, 0};
    const Wide gain = solution[2];
    if (!(sign_of(polarity, double(gain)) * gain > least_gain)) return {0, 0, 0};
    const Wide step_x = -solution[0] / gain, step_y = -solution[1] / gain;
    const Wide to_x = std::clamp<Wide>(x + std::clamp<Wide>(step_x, -1, 1), -1, 1);
    const Wide to_y = std::clamp<Wide>(y + std::clamp<Wide>(step_y, -1, 1), -1, 1);
    moved = std::max(std::abs(to_x - x), std::abs(to_y - y));
    x = to_x;
    y = to_y;
    // At the end of the reach, and not about to stop.
    if (moved <= 1e-4L && std::max(std::abs(step_x), std::abs(step_y)) > 0.5L) return {0, 0, 0};
  }
  if (moved > 1e-2L) return {0, 0, 0};
  return {double(x), double(y), 1};
}

template <class T>
void subpixel_refine_as(const stage::SubpixelRefine::Problem& problem,
                        const stage::SubpixelRefine::Buffers& b) {
  const Problem& p = problem.correlate;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    for (std::uint32_t i = 0; i < b.counts[r]; ++i) {
      const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
      const auto [score, x, y] = b.candidates[index];
      std::vector<Plane<T>> planes;
      for (int plane = 0; plane < p.planes; ++plane) {
        const std::int64_t right = std::int64_t{plane} * p.rights + r;
        auto window = plain::left_of_right<T>(p, b.lefts, r, plane);
        window.data += (p.shifts.y + y) * p.left_pitch +
                       (p.shifts.x + x) * static_cast<std::int64_t>(sizeof(T));
        planes.push_back({window, plain::right_of<T>(p, b.templates, right),
                          problem.mean(b.template_sums[right])});
      }
      Rect seen{0, 0, p.right.width, p.right.height};
      if (const Rect& picture = problem.overhang.picture; problem.overhang)
        seen = {picture.x - p.shifts.x - x, picture.y - p.shifts.y - y, picture.width,
                picture.height};
      const bool inside = x > 0 && y > 0 && x + 1 < p.shifts.width && y + 1 < p.shifts.height;
      b.fits[index] =
          inside ? subpixel_refine(planes, b.inset, seen, problem.polarity) : FittedPlace{0, 0, 0};
    }
}

Status subpixel_refine_all(const stage::SubpixelRefine::Problem& problem, const Device&,
                           const stage::SubpixelRefine::Buffers& b, PlanState*) {
  return for_type(subpixel_refine_as<std::uint8_t>, subpixel_refine_as<std::uint16_t>,
                  subpixel_refine_as<float>, problem, b);
}

// ---------------------------------------------------------------------------------------------

constexpr Features any = Features(Feature::u8, Feature::u16, Feature::f32);
constexpr Variant<stage::Smooth> smooth_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any}, {.launch = smooth}},
};
constexpr Variant<stage::PoseRefine> pose_refine_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = any | Features(Feature::contrast, Feature::planes)},
     {.launch = pose_refine_all}},
};
constexpr Variant<stage::SubpixelRefine> subpixel_refine_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = any | Features(Feature::wide_sums, Feature::several_peaks, Feature::mask,
                                 Feature::contrast, Feature::own_lefts, Feature::planes,
                                 Feature::overhang)},
     {.launch = subpixel_refine_all}},
};

}  // namespace

Family reference_least_squares_family() {
  return Family(smooth_table, pose_refine_table, subpixel_refine_table);
}

}  // namespace xcorr::cpu
