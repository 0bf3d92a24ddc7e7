// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages of displacement fields, in plain loops: the search in integers with
// one rounding per score; the rest in long double, by other ways than the stages' own.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "stages/fields/smooth_field.hpp"
#include "stages/fields/validate.hpp"
#include "stages/fields/window_search.hpp"

namespace xcorr::cpu {
namespace {

using Wide = long double;

// ---- window_search
// -------------------------------------------------------------------------------

/// A pixel; of floating point what is not finite counts as 0.
template <class T>
T pixel_of(const std::uint8_t* rows, std::int64_t pitch, std::int64_t x, std::int64_t y) {
  const T value = row_of<T>(rows, pitch, y)[x];
  return std::isfinite(static_cast<double>(value)) ? value : T{0};
}

/// The score of a window of the reference with one of the frame, or nothing has variance: 0.
template <class T>
double score(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
             const InterrogationWindow& window, int left, int top, bool* reference_varies) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, Wide, Int128>;
  Sum n = 0, t = 0, tt = 0, f = 0, ff = 0, tf = 0;
  for (int y = 0; y < p.window; ++y)
    for (int x = 0; x < p.window; ++x) {
      const std::int64_t at_x = window.x + x, at_y = window.y + y;
      if (p.masked && !b.mask[at_y * p.frame.width + at_x]) continue;
      const Sum a = pixel_of<T>(b.reference, p.pitch, at_x, at_y);
      const Sum c = pixel_of<T>(b.frame, p.frame_pitch, left + x, top + y);
      n += 1;
      t += a;
      tt += a * a;
      f += c;
      ff += c * c;
      tf += a * c;
    }
  const Sum t_variance = n * tt - t * t, f_variance = n * ff - f * f;
  // Of floats so little is rounding.
  const auto varies = [&](Sum variance, Sum squares) {
    return variance >
           (std::is_floating_point_v<T> ? static_cast<Sum>(1e-12L * Wide(n * squares)) : Sum{0});
  };
  *reference_varies = varies(t_variance, tt);
  if (!*reference_varies || !varies(f_variance, ff)) return 0;
  const double value = static_cast<double>(n * tf - f * t) /
                       std::sqrt(static_cast<double>(t_variance) * static_cast<double>(f_variance));
  return std::clamp(value, -1.0, 1.0);
}

Wide curve(FieldSubpixel subpixel, const std::vector<double>& s, int before, int after) {
  const auto bent = [&](int i) -> Wide {
    return subpixel == FieldSubpixel::gauss ? std::log(std::max<Wide>(s[i], 1e-3L)) : Wide(s[i]);
  };
  const Wide bend = bent(before) - 2 * bent(4) + bent(after);
  if (!(bend < 0)) return 0;
  return std::clamp<Wide>((bent(before) - bent(after)) / (2 * bend), -0.5L, 0.5L);
}

/// To the extremum, through the scores around the best.
std::pair<Wide, Wide> offset_of(FieldSubpixel subpixel, const std::vector<double>& s, bool whole_x,
                                bool whole_y) {
  if (subpixel == FieldSubpixel::none) return {0, 0};
  if (subpixel == FieldSubpixel::quadratic && whole_x && whole_y) {
    const Wide gx = (Wide(s[5]) - s[3]) / 2, gy = (Wide(s[7]) - s[1]) / 2;
    const Wide xx = s[3] - 2 * Wide(s[4]) + s[5], yy = s[1] - 2 * Wide(s[4]) + s[7];
    const Wide xy = (Wide(s[8]) - s[2] - s[6] + s[0]) / 4, det = xx * yy - xy * xy;
    if (det > 0 && xx < 0)
      return {std::clamp<Wide>((xy * gy - yy * gx) / det, -1, 1),
              std::clamp<Wide>((xy * gx - xx * gy) / det, -1, 1)};
  }
  return {whole_x ? curve(subpixel, s, 3, 5) : 0, whole_y ? curve(subpixel, s, 1, 7) : 0};
}

FieldVector vector_at_node(const InterrogationWindow& window, int size) {
  FieldVector v;
  v.x = static_cast<float>(window.x + window.node_x + (size - 1) / 2.0L);
  v.y = static_cast<float>(window.y + window.node_y + (size - 1) / 2.0L);
  v.dx = window.dx + window.deformed_dx;
  v.dy = window.dy + window.deformed_dy;
  return v;
}

/// The i-th window's.
FieldVector window_search(const stage::WindowSearch::Problem& p,
                          const stage::WindowSearch::Buffers& b, int index) {
  const InterrogationWindow& window = b.windows[index];
  FieldVector vector = vector_at_node(window, p.window);
  vector.status = window.status;
  if (window.status != FieldStatus::ok) return vector;
  const int across = 2 * p.range + 1;
  const int left = window.x + static_cast<int>(std::floor(window.dx + 0.5F)) - p.range;
  const int top = window.y + static_cast<int>(std::floor(window.dy + 0.5F)) - p.range;
  const double none = -2;
  std::vector<double> scores(across * across, none);
  bool varies = true;
  for (int i = 0; i < across * across; ++i) {
    const int x = left + i % across, y = top + i / across;
    if (x >= 0 && y >= 0 && x + p.window <= p.frame.width && y + p.window <= p.frame.height)
      scores[i] = (p.type == ElementType::u8    ? score<std::uint8_t>
                   : p.type == ElementType::u16 ? score<std::uint16_t>
                                                : score<float>)(p, b, window, x, y, &varies);
  }
  for (int k = 0; p.pairs > 1 && k < across * across; ++k) {
    if (scores[k] == none) continue;
    const std::int64_t at = std::int64_t{index} * across * across + k;
    float sum = static_cast<float>(scores[k]);
    if (p.pair > 0) sum += b.sums[at];
    if (p.pair == p.pairs - 1) sum /= static_cast<float>(p.pairs);
    b.next_sums[at] = sum;
    scores[k] = sum;
    varies = true;
  }
  const int best = static_cast<int>(std::ranges::max_element(scores) - scores.begin());
  const int best_x = best % across, best_y = best / across;
  if (scores[best] == none)
    vector.status = FieldStatus::out_of_range;
  else if (!varies || !(scores[best] > 0))
    vector.status = FieldStatus::flat;
  if (vector.status != FieldStatus::ok) return vector;
  double second = 0;
  for (int i = 0; i < across * across; ++i)
    if (std::abs(i % across - best_x) > 2 || std::abs(i / across - best_y) > 2)
      second = std::max(second, scores[i]);
  vector.score = static_cast<float>(scores[best]);
  vector.ratio = second > 0 ? static_cast<float>(std::min(100.0, scores[best] / second)) : 100;
  Wide dx = left + best_x - window.x, dy = top + best_y - window.y;
  if (best_x == 0 || best_y == 0 || best_x == across - 1 || best_y == across - 1) {
    vector.status = FieldStatus::out_of_range;
  } else {
    std::vector<double> around;
    for (int i = 0; i < 9; ++i) around.push_back(scores[best + (i / 3 - 1) * across + i % 3 - 1]);
    const auto exists = [&](int a, int c) { return around[a] != none && around[c] != none; };
    const auto [x, y] = offset_of(p.subpixel, around, exists(3, 5), exists(1, 7));
    dx += x;
    dy += y;
  }
  if (p.symmetric) {
    const Wide x = window.node_x - dx / 2, y = window.node_y - dy / 2;
    dx += window.dx_by_x * x + window.dx_by_y * y;
    dy += window.dy_by_x * x + window.dy_by_y * y;
  }
  vector.dx = static_cast<float>(dx + window.deformed_dx);
  vector.dy = static_cast<float>(dy + window.deformed_dy);
  return vector;
}

Status window_search_all(const stage::WindowSearch::Problem& p, const Device&,
                         const stage::WindowSearch::Buffers& b, PlanState*) {
  for (int i = 0; i < p.count; ++i) {
    const FieldVector vector = window_search(p, b, i);
    if (p.pair == p.pairs - 1) b.vectors[i] = vector;
  }
  return {};
}

// ---- validate -------------------------------------------------------------------------------

Wide median(std::vector<Wide> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// The usual distance of values from their median.
Wide spread(const std::vector<Wide>& values) {
  std::vector<Wide> distances;
  for (const Wide value : values) distances.push_back(std::abs(value - median(values)));
  return median(distances);
}

/// How many times the others' spread, or the most that counts of it, a value is away from their
/// median.
Wide strangeness(Wide value, const std::vector<Wide>& others, Wide most, Wide noise) {
  return std::abs(value - median(others)) / (std::min(spread(others), most) + noise);
}

/// What the polynomial through values at these places is at 0.
Wide continued(const std::vector<std::pair<int, Wide>>& values) {
  Wide sum = 0;
  for (const auto& [place, value] : values) {
    Wide weight = 1;
    for (const auto& [other, ignored] : values)
      if (other != place) weight *= Wide(-other) / (place - other);
    sum += weight * value;
  }
  return sum;
}

/// What the lines through a node of a grid continue to, of each for which enough is known.
/// \param value_at  value_at(x, y) is a likely vector's component, or nothing
template <class ValueAt>
std::vector<Wide> continued_lines(int x, int y, const ValueAt& value_at) {
  std::vector<Wide> all;
  for (const auto& [dx, dy] : {std::pair{-1, -1}, {0, -1}, {1, -1}, {-1, 0}})
    for (const std::vector<int>& places : std::vector<std::vector<int>>{
             {1, 2, -1, -2}, {1, 2, -1}, {-1, -2, 1}, {1, 2, 3}, {-1, -2, -3}}) {
      std::vector<std::pair<int, Wide>> values;
      for (const int place : places)
        if (const auto value = value_at(x + place * dx, y + place * dy))
          values.emplace_back(place, *value);
      if (values.size() < places.size()) continue;
      all.push_back(continued(values));
      break;
    }
  return all;
}

Status validate(const stage::Validate::Problem& p, const Device&, const stage::Validate::Buffers& b,
                PlanState*) {
  const auto likely = [&](const FieldVector& v) {
    return v.status == FieldStatus::ok && v.score >= p.limits.min_score &&
           v.ratio >= p.limits.min_ratio;
  };
  for (int i = 0; i < p.grid.area(); ++i) {
    std::vector<int> neighbours;
    for (int k = 0; k < 9 && !p.explicit_places; ++k) {
      const int x = i % p.grid.width + k % 3 - 1, y = i / p.grid.width + k / 3 - 1;
      if (k != 4 && x >= 0 && y >= 0 && x < p.grid.width && y < p.grid.height)
        neighbours.push_back(y * p.grid.width + x);
    }
    if (p.explicit_places)
      std::ranges::copy_if(b.neighbours[i].node, std::back_inserter(neighbours),
                           [](int node) { return node >= 0; });
    std::vector<Wide> dx, dy;
    for (const int k : neighbours) {
      const FieldVector& other = b.vectors[k];
      if (!likely(other)) continue;
      dx.push_back(other.dx);
      dy.push_back(other.dy);
    }
    FieldVector v = b.vectors[i];
    bool good = likely(v);
    const auto fails = [&](const std::vector<Wide>& by_x, const std::vector<Wide>& by_y,
                           Wide most_x, Wide most_y) {
      return std::hypot(strangeness(v.dx, by_x, most_x, p.limits.median_noise),
                        strangeness(v.dy, by_y, most_y, p.limits.median_noise)) >
             p.limits.median_limit;
    };
    if (good && dx.size() >= 3 && p.limits.median_limit > 0 && fails(dx, dy, HUGE_VAL, HUGE_VAL)) {
      const auto component = [&](float FieldVector::*which) {
        return [&, which](int x, int y) -> std::optional<Wide> {
          if (x < 0 || y < 0 || x >= p.grid.width || y >= p.grid.height) return {};
          const FieldVector& other = b.vectors[y * p.grid.width + x];
          return likely(other) ? std::optional<Wide>(other.*which) : std::nullopt;
        };
      };
      const int x = i % p.grid.width, y = i / p.grid.width;
      const auto by_x = continued_lines(x, y, component(&FieldVector::dx)),
                 by_y = continued_lines(x, y, component(&FieldVector::dy));
      good = !p.explicit_places && by_x.size() >= 2 && !fails(by_x, by_y, spread(dx), spread(dy));
    }
    if (!good) {
      if (v.status == FieldStatus::ok) v.status = FieldStatus::replaced;
      if (!dx.empty()) {
        v.dx = static_cast<float>(median(dx));
        v.dy = static_cast<float>(median(dy));
        v.dx_by_x = v.dx_by_y = v.dy_by_x = v.dy_by_y = v.sigma = 0;
      }
    }
    b.validated[i] = v;
  }
  return {};
}

// ---- smooth_field ---------------------------------------------------------------------------

/// One component, of the window's neighbours from numbers to the weights that they have.
Wide smoothed(const stage::SmoothField::Problem& p, const stage::SmoothField::Buffers& b, int i,
              float FieldVector::*component) {
  const auto known = [&](int k) {
    const FieldStatus status = b.vectors[k].status;
    return status != FieldStatus::masked && status != FieldStatus::flat;
  };
  const auto value = [&](int k) { return Wide(b.vectors[k].*component); };
  const Wide own = value(i);
  if (!known(i) && p.bells.reach == 0) return own;
  Wide sum = own, weights = 1;
  if (p.explicit_places) {
    std::vector<int> linked;
    Wide across = 0, down = 0;
    for (int k = 0; k < FieldNeighbours::most; ++k) {
      const int node = b.neighbours[i].node[k];
      if (node < 0) continue;
      if (!known(node)) return own;
      linked.push_back(node);
      across += b.neighbours[i].by_x[k] * (value(node) - own);
      down += b.neighbours[i].by_y[k] * (value(node) - own);
    }
    for (const int node : linked) {
      const Wide x = Wide(b.vectors[node].x) - b.vectors[i].x,
                 y = Wide(b.vectors[node].y) - b.vectors[i].y;
      sum += p.weight * (value(node) - across * x - down * y);
      weights += p.weight;
    }
    return sum / weights;
  }
  const int column = i % p.grid.width, row = i / p.grid.width;
  if (p.bells.reach > 0) {
    const auto average = [&](double deviation) {
      Wide of_all = 0, shares = 0;
      for (int k = 0; k < p.grid.area(); ++k) {
        const int x = k % p.grid.width - column, y = k / p.grid.width - row;
        const FieldVector& v = b.vectors[k];
        if (std::max(std::abs(x), std::abs(y)) > p.bells.reach || v.status != FieldStatus::ok ||
            v.score <= 0)
          continue;
        const Wide share = std::exp(-0.5L * (x * x + y * y) / (deviation * deviation)) *
                           std::pow(Wide(v.score), 3);
        of_all += share * value(k);
        shares += share;
      }
      return shares > 0 ? of_all / shares : own;
    };
    const Wide narrow = average(p.bells.narrow);
    return narrow + p.bells.restored * (narrow - average(p.bells.wide));
  }
  const auto number = [&](int x, int y) {
    const bool inside = x >= 0 && y >= 0 && x < p.grid.width && y < p.grid.height;
    return inside && known(y * p.grid.width + x) ? y * p.grid.width + x : -1;
  };
  for (int y = -1; y <= 1; ++y)
    for (int x = -1; x <= 1; ++x) {
      if (x == 0 && y == 0) continue;
      const int here = number(column + x, row + y), opposite = number(column - x, row - y);
      if (here < 0 || opposite < 0) continue;
      const Wide weight = x == 0 || y == 0 ? Wide(p.weight) : Wide(p.weight) * p.weight;
      sum += weight * value(here);
      weights += weight;
    }
  return sum / weights;
}

Status smooth_field(const stage::SmoothField::Problem& p, const Device&,
                    const stage::SmoothField::Buffers& b, PlanState*) {
  for (int i = 0; i < p.grid.area(); ++i) {
    b.smoothed[i] = b.vectors[i];
    b.smoothed[i].dx = static_cast<float>(smoothed(p, b, i, &FieldVector::dx));
    b.smoothed[i].dy = static_cast<float>(smoothed(p, b, i, &FieldVector::dy));
  }
  return {};
}

constexpr Variant<stage::WindowSearch> window_search_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::ensemble}},
     {.launch = window_search_all}},
};
constexpr Variant<stage::SmoothField> smooth_table[] = {
    {{.name = "reference", .backend = Backend::cpu}, {.launch = smooth_field}},
};
constexpr Variant<stage::Validate> validate_table[] = {
    {{.name = "reference", .backend = Backend::cpu}, {.launch = validate}},
};

}  // namespace

Family reference_fields_family() {
  return Family(window_search_table, validate_table, smooth_table);
}

}  // namespace xcorr::cpu
