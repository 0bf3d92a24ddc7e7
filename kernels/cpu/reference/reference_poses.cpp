// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages of poses, in plain loops: all bit for bit as their headers define them,
// but align and locate in long double by elimination.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/reference/reference_methods.hpp"
#include "stages/align.hpp"
#include "stages/halve.hpp"
#include "stages/locate.hpp"
#include "stages/probe.hpp"
#include "stages/score.hpp"

namespace xcorr::cpu {
namespace {

using Wide = long double;

/// Runs it for the type of pixels.
template <class Problem, class Buffers>
Status for_type(void (*u8)(const Problem&, const Buffers&),
                void (*u16)(const Problem&, const Buffers&),
                void (*f32)(const Problem&, const Buffers&), const Problem& p, const Buffers& b) {
  const ElementType type = [&] {
    if constexpr (requires { p.correlate; })
      return p.correlate.type;
    else
      return p.type;
  }();
  (type == ElementType::u8 ? u8 : type == ElementType::u16 ? u16 : f32)(p, b);
  return {};
}

template <class T>
void halve_as(const stage::Halve::Problem& p, const stage::Halve::Buffers& b) {
  for (int y = 0; y < p.half.height; ++y)
    for (int x = 0; x < p.half.width; ++x) {
      double sum = 0;
      for (int i = 0; i < 4; ++i) sum += row_of<T>(b.pixels, p.pitch, 2 * y + i / 2)[2 * x + i % 2];
      const double mean = std::is_floating_point_v<T> ? sum / 4 : std::floor((sum + 2) / 4);
      row_of<T>(b.halved, p.half_pitch, y)[x] = static_cast<T>(mean);
    }
}

Status halve(const stage::Halve::Problem& p, const Device&, const stage::Halve::Buffers& b,
             PlanState*) {
  return for_type(halve_as<std::uint8_t>, halve_as<std::uint16_t>, halve_as<float>, p, b);
}

// ---- turn -----------------------------------------------------------------------------------

/// Rounded down, also below 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// A coordinate in a level of the template in 128ths of a pixel, rounded to the nearest, from twice
/// the samples between a place and the picture's centre. `length`: the template's; `shift`: of the
/// picture's centre.
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

/// Pixels, and sums of weighed ones: whole numbers of those that are. Of others sums round, so that
/// their order matters: rows first.
template <class T>
using WideOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

template <class T>
struct Sample {
  bool counts = true;
  WideOf<T> value = 0;  ///< 256 times
};

/// The nearest whole number, if it is to be one.
template <class T>
WideOf<T> divided(WideOf<T> sum, std::int64_t unit) {
  if constexpr (std::is_floating_point_v<T>)
    return sum / unit;
  else
    return floor_div(sum + unit / 2, unit);
}

template <class T>
Sample<T> sample(const stage::Turn::Problem& p, const stage::Turn::Buffers& b, int level,
                 std::int64_t u, std::int64_t v) {
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
void turn_as(const stage::Turn::Problem& p, const stage::Turn::Buffers& b) {
  T* const pictures = static_cast<T*>(b.pictures);
  std::fill_n(pictures, p.count * p.most.area(), T{0});
  std::fill_n(b.masks, p.count * p.most.area(), std::uint8_t{0});
  for (int i = 0; i < p.count; ++i) {
    const TurnMap& m = b.maps[i];
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
        pictures[at] = static_cast<T>(value);
        b.masks[at] = 1;
        ++counted;
        sum += static_cast<TermOf<T>>(pictures[at]);
        squares += static_cast<TermOf<T>>(pictures[at]) * pictures[at];
      }
    b.sums[i] = {{double(sum), double(squares), double(counted * squares - sum * sum)},
                 double(counted)};
  }
}

Status turn(const stage::Turn::Problem& p, const Device&, const stage::Turn::Buffers& b,
            PlanState*) {
  return for_type(turn_as<std::uint8_t>, turn_as<std::uint16_t>, turn_as<float>, p, b);
}

// ---- probe ----------------------------------------------------------------------------------

/// A picture by the stage turn.
template <class T>
struct Picture {
  std::vector<T> pixels;
  std::vector<std::uint8_t> mask;
  TurnedSums sums{};
};

template <class T>
Picture<T> picture_of(const stage::Probe::Problem& p, const stage::Probe::Buffers& b,
                      const TurnMap& map) {
  const Size size{map.width, map.height};
  Picture<T> made{std::vector<T>(size.area()), std::vector<std::uint8_t>(size.area())};
  turn_as<T>({p.pyramid, p.masking, size, 1, 0, 0, p.type},
             {{}, b.pixels, b.mask, &map, made.pixels.data(), made.mask.data(), &made.sums});
  return made;
}

/// By which a score counts.
int sign_of(Polarity polarity, double score) {
  return polarity == Polarity::inverted || (polarity == Polarity::either && score < 0) ? -1 : 1;
}

template <class T>
ProbedPlace probe_one(const stage::Probe::Problem& p, const stage::Probe::Buffers& b,
                      const stage::Probe::Try& one) {
  const TurnMap map = p.steps.map(p.pose_level(), one.pose, {b.angles, b.inverse_scales});
  using Term = TermOf<T>;
  const Picture<T> picture = picture_of<T>(p, b, map);
  const Term n = picture.sums.counted;
  ProbedPlace best{};
  if (n == 0) return best;
  const int left = static_cast<int>(floor_div(one.twice_x - map.width + 1, 2));
  const int top = static_cast<int>(floor_div(one.twice_y - map.height + 1, 2));
  for (int y = top - 2; y <= top + 2; ++y)
    for (int x = left - 2; x <= left + 2; ++x) {
      if (x < 0 || y < 0 || x + map.width > p.frame.width || y + map.height > p.frame.height)
        continue;
      WindowTerms<Term> terms{
          n, 0, 0, 0, Term(picture.sums.sums.sum), Term(picture.sums.sums.squares)};
      for (int v = 0; v < map.height; ++v)
        for (int u = 0; u < map.width; ++u) {
          const std::int64_t at = std::int64_t{v} * map.width + u;
          if (!picture.mask[at]) continue;
          const Term f = row_of<T>(b.frame, p.pitch, y + v)[x + u];
          terms.product += f * static_cast<Term>(picture.pixels[at]);
          terms.left_sum += f;
          terms.left_squares += f * f;
        }
      const double spread =
          std::sqrt(static_cast<double>(n * terms.left_squares - terms.left_sum * terms.left_sum));
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
void probe_as(const stage::Probe::Problem& p, const stage::Probe::Buffers& b) {
  for (int i = 0; i < *b.candidate_count; ++i)
    for (int k = 0; k < p.tries(); ++k) {
      const stage::Probe::Try one = stage::Probe::try_of(p, b, i, k);
      b.found[i * p.tries() + k] = one.exists ? probe_one<T>(p, b, one) : ProbedPlace{};
    }
}

Status probe(const stage::Probe::Problem& p, const Device&, const stage::Probe::Buffers& b,
             PlanState*) {
  return for_type(probe_as<std::uint8_t>, probe_as<std::uint16_t>, probe_as<float>, p, b);
}

// ---- smooth ---------------------------------------------------------------------------------

/// Of whole numbers, which are exact in double, the quotient in single precision.
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

// ---- align ----------------------------------------------------------------------------------

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
Alignment align(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                const AlignedPose& start) {
  AlignedPose pose = start;
  Wide angle = std::atan2(start.sine, start.cosine);
  const Wide first_angle = angle;
  const Wide radius = (p.size.width + p.size.height) / 4.0L * start.scale;
  std::vector<int> free{0, 1};
  if (p.freedom.turns) free.push_back(2);
  if (p.freedom.scales) free.push_back(3);
  free.insert(free.end(), {4, 5});
  Wide first_fit = 0, fit = 0;
  for (int step = 0; step < 6; ++step) {
    Wide count = 0, t_sum = 0, t_squares = 0, f_sum = 0, f_squares = 0, products = 0;
    const Wide c = std::cos(angle), s = std::sin(angle), z = pose.scale;
    const std::size_t n = free.size();
    std::vector<std::vector<Wide>> rows(n, std::vector<Wide>(n + 2, 0));
    for (int v = 0; v < p.size.height; ++v)
      for (int u = 0; u < p.size.width; ++u) {
        const std::int64_t at = std::int64_t{v} * p.size.width + u;
        const SmoothedPixel& t = b.smoothed[at];
        if (!t.counts) continue;
        const Wide du = u - (p.size.width - 1) / 2.0L, dv = v - (p.size.height - 1) / 2.0L;
        const Wide dx = z * (c * du + s * dv), dy = z * (c * dv - s * du);
        const Wide gx = (c * t.by_u + s * t.by_v) / z, gy = (c * t.by_v - s * t.by_u) / z;
        const Wide all[] = {gx,      gy, (gx * dy - gy * dx) / radius, (gx * dx + gy * dy) / radius,
                            t.value, 1};
        const Wide frame = smoothed<T>(b.frame, p.pitch, p.frame, pose.x + dx, pose.y + dy);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) rows[i][j] += all[free[i]] * all[free[j]];
          rows[i][n] += all[free[i]] * frame;
        }
        count += 1;
        t_sum += t.value;
        t_squares += Wide(t.value) * t.value;
        f_sum += frame;
        f_squares += frame * frame;
        products += t.value * frame;
      }
    for (std::size_t i = 0; i < n; ++i) rows[i][n + 1] = rows[i][i];
    std::vector<Wide> solution;
    if (!eliminate(rows, solution)) return {start, 0};
    const Wide gain = solution[n - 2];
    const int sign = sign_of(p.freedom.polarity, double(gain));
    if (!(sign * gain > 0)) return {start, 0};
    fit = sign * (products - t_sum * f_sum / count) /
          std::sqrt((t_squares - t_sum * t_sum / count) * (f_squares - f_sum * f_sum / count));
    if (step == 0) first_fit = fit;
    Wide moved[4] = {}, longest = 0;
    for (std::size_t i = 0; i < n - 2; ++i) {
      moved[free[i]] = std::clamp<Wide>(-solution[i] / gain, -1, 1);
      longest = std::max(longest, std::abs(moved[free[i]]));
    }
    angle += moved[2] / radius;
    pose = {double(pose.x + moved[0]), double(pose.y + moved[1]), double(std::cos(angle)),
            double(std::sin(angle)), double(pose.scale * (1 + moved[3] / radius))};
    if (std::abs(pose.x - start.x) > 1 || std::abs(pose.y - start.y) > 1 ||
        std::abs(angle - first_angle) * radius > 3 ||
        std::abs(pose.scale / start.scale - 1) * radius > 3)
      return {start, 0};
    if (longest <= 1e-4L) break;
  }
  if (fit < first_fit - 0.05L) return {start, 0};
  return {pose, 1};
}

template <class T>
void align_as(const stage::Align::Problem& p, const stage::Align::Buffers& b) {
  for (int i = 0; i < p.count; ++i)
    b.alignments[i] = b.starts[i].scale == 0 ? Alignment{} : align<T>(p, b, b.starts[i]);
}

Status align_all(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
                 PlanState*) {
  return for_type(align_as<std::uint8_t>, align_as<std::uint16_t>, align_as<float>, p, b);
}

// ---- locate ---------------------------------------------------------------------------------

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

/// `mean`: about that of the template, so that brightness hides no contrast.
template <class T>
FittedPlace locate(const plain::Matrix<T>& window, const plain::Matrix<T>& pattern, Wide mean,
                   const std::uint8_t* inset, Polarity polarity) {
  const Size size = pattern.size;
  Wide x = 0, y = 0;
  for (int step = 0; step < 10; ++step) {
    std::vector<std::vector<Wide>> rows(4, std::vector<Wide>(6, 0));
    for (int v = 2; v < size.height - 2; ++v)
      for (int u = 2; u < size.width - 2; ++u) {
        if (inset && !inset[std::int64_t{v} * size.width + u]) continue;
        const Terms terms(pattern, mean, u, v);
        const Wide frame = smoothed<T>(window.data, window.pitch, size, u + x, v + y);
        for (int i = 0; i < 4; ++i) {
          for (int j = 0; j < 4; ++j) rows[i][j] += terms.of[i] * terms.of[j];
          rows[i][4] += terms.of[i] * frame;
        }
      }
    for (int i = 0; i < 4; ++i) rows[i][5] = rows[i][i];
    std::vector<Wide> solution;
    if (rows[3][3] < 16 || !eliminate(rows, solution)) break;
    const Wide gain = solution[2];
    if (!(sign_of(polarity, double(gain)) * gain > least_gain)) break;
    const Wide step_x = -solution[0] / gain, step_y = -solution[1] / gain;
    x = std::clamp<Wide>(x + std::clamp<Wide>(step_x, -1, 1), -1, 1);
    y = std::clamp<Wide>(y + std::clamp<Wide>(step_y, -1, 1), -1, 1);
    if (std::max(std::abs(step_x), std::abs(step_y)) <= 1e-4L) return {double(x), double(y), 1};
  }
  return {0, 0, 0};
}

template <class T>
void locate_as(const stage::Locate::Problem& problem, const stage::Locate::Buffers& b) {
  const Problem& p = problem.correlate;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    for (std::uint32_t i = 0; i < b.counts[r]; ++i) {
      const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
      const auto [score, x, y] = b.candidates[index];
      auto window = plain::left_of_right<T>(p, b.lefts, r);
      window.data +=
          (p.shifts.y + y) * p.left_pitch + (p.shifts.x + x) * static_cast<std::int64_t>(sizeof(T));
      const bool inside = x > 0 && y > 0 && x + 1 < p.shifts.width && y + 1 < p.shifts.height;
      b.fits[index] = inside ? locate(window, plain::right_of<T>(p, b.templates, r),
                                      problem.mean(b.template_sums[r]), b.inset, problem.polarity)
                             : FittedPlace{0, 0, 0};
    }
}

Status locate_all(const stage::Locate::Problem& problem, const Device&,
                  const stage::Locate::Buffers& b, PlanState*) {
  return for_type(locate_as<std::uint8_t>, locate_as<std::uint16_t>, locate_as<float>, problem, b);
}

// ---------------------------------------------------------------------------------------------

constexpr Features any = Features(Feature::u8, Feature::u16, Feature::f32);
constexpr Variant<stage::Halve> halve_table[] = {
    {{"reference", Backend::cpu, any, reference_rank}, supports_all, halve},
};
constexpr Variant<stage::Turn> turn_table[] = {
    {{"reference", Backend::cpu, any | Feature::mask, reference_rank}, supports_all, turn},
};
constexpr Variant<stage::Probe> probe_table[] = {
    {{"reference", Backend::cpu, any | Features(Feature::mask, Feature::contrast), reference_rank},
     supports_all,
     probe},
};
constexpr Variant<stage::Smooth> smooth_table[] = {
    {{"reference", Backend::cpu, any, reference_rank}, supports_all, smooth},
};
constexpr Variant<stage::Align> align_table[] = {
    {{"reference", Backend::cpu, any | Feature::contrast, reference_rank}, supports_all, align_all},
};
constexpr Variant<stage::Locate> locate_table[] = {
    {{"reference", Backend::cpu,
      any | Features(Feature::wide_sums, Feature::several_peaks, Feature::mask, Feature::contrast,
                     Feature::own_lefts),
      reference_rank},
     supports_all,
     locate_all},
};

}  // namespace

Family reference_poses_family() {
  return Family(halve_table, turn_table, probe_table, smooth_table, align_table, locate_table);
}

}  // namespace xcorr::cpu
