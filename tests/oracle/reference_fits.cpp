// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages spline, deform and fit, in long double: coefficients by the recursive
// filters that invert a B-spline exactly, least squares by elimination on the pixels themselves.
#include <algorithm>
#include <cmath>
#include <vector>

#include "stages/fields/deform.hpp"
#include "stages/fields/fit.hpp"
#include "stages/fields/spline.hpp"

namespace xcorr::cpu {
namespace {

using Wide = long double;

/// A pixel of an image; of floating point what is not finite counts as 0.
Wide pixel_of(ElementType type, const std::uint8_t* rows, std::int64_t pitch, int x, int y) {
  const double value = type == ElementType::u8    ? row_of<std::uint8_t>(rows, pitch, y)[x]
                       : type == ElementType::u16 ? row_of<std::uint16_t>(rows, pitch, y)[x]
                                                  : row_of<float>(rows, pitch, y)[x];
  return std::isfinite(value) ? value : 0;
}

// ---- spline ---------------------------------------------------------------------------------

int mirror(int i, int length) {
  while (i < 0 || i >= length) i = i < 0 ? -i : 2 * (length - 1) - i;
  return i;
}

/// One pole of the inverse of a B-spline, forwards and backwards over a row that is mirrored at its
/// ends.
void invert(std::vector<Wide>& row, Wide pole) {
  const int length = static_cast<int>(row.size());
  constexpr int reach = 120;  // of which the pole leaves nothing
  Wide before = 0;
  for (int i = -reach; i < 0; ++i) before = row[mirror(i, length)] + pole * before;
  std::vector<Wide> forwards(length + reach);
  for (int i = 0; i < length + reach; ++i)
    forwards[i] = before = row[mirror(i, length)] + pole * before;
  Wide after = 0;
  for (int i = length + reach - 1; i >= 0; --i) {
    after = pole * (after - forwards[i]);
    if (i < length) row[i] = after;
  }
}

void invert(std::vector<Wide>& row, int degree) {
  if (row.size() == 1) return;
  std::vector<Wide> poles{std::sqrt(3.0L) - 2};
  if (degree == 5)
    poles = {std::sqrt(67.5L - std::sqrt(4436.25L)) + std::sqrt(26.25L) - 6.5L,
             std::sqrt(67.5L + std::sqrt(4436.25L)) - std::sqrt(26.25L) - 6.5L};
  for (const Wide pole : poles) {
    for (Wide& value : row) value *= (1 - pole) * (1 - 1 / pole);
    invert(row, pole);
  }
}

Status spline(const stage::Spline::Problem& p, const Device&, const stage::Spline::Buffers& b,
              PlanState*) {
  const auto [width, height] = p.size;
  std::vector<std::vector<Wide>> rows;
  for (int y = 0; y < height; ++y) {
    rows.emplace_back();
    for (int x = 0; x < width; ++x)
      rows.back().push_back(pixel_of(p.type, b.pixels, p.pitch, x, y));
    invert(rows.back(), p.degree);
  }
  for (int x = 0; x < width; ++x) {
    std::vector<Wide> column;
    for (int y = 0; y < height; ++y) column.push_back(rows[y][x]);
    invert(column, p.degree);
    for (int y = 0; y < height; ++y)
      b.coefficients[std::int64_t{y} * width + x] = static_cast<float>(column[y]);
  }
  return {};
}

/// A B-spline of that degree at a distance from its middle, by Cox and de Boor's recursion.
Wide bell(int degree, Wide distance) {
  if (degree == 0) return distance >= -0.5L && distance < 0.5L ? 1 : 0;
  const Wide half = (degree + 1) / 2.0L;
  return ((half + distance) * bell(degree - 1, distance + 0.5L) +
          (half - distance) * bell(degree - 1, distance - 0.5L)) /
         degree;
}

/// The spline's value at a place, which may lie outside the image.
Wide value_at(int degree, const float* coefficients, Size size, Wide x, Wide y) {
  const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
  Wide value = 0;
  for (int j = top - 2; j <= top + 3; ++j)
    for (int i = left - 2; i <= left + 3; ++i)
      value +=
          bell(degree, x - i) * bell(degree, y - j) *
          coefficients[std::int64_t{mirror(j, size.height)} * size.width + mirror(i, size.width)];
  return value;
}

// ---- deform ---------------------------------------------------------------------------------

/// A component at columns and rows of the grid.
Wide between(const stage::Deform::Problem& p, const FieldVector* vectors,
             float FieldVector::*component, Wide u, Wide v) {
  const auto [width, height] = p.grid.count;
  u = std::clamp<Wide>(u, 0, width - 1);
  v = std::clamp<Wide>(v, 0, height - 1);
  Wide sum = 0;
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      sum += std::max<Wide>(0, 1 - std::abs(u - column)) *
             std::max<Wide>(0, 1 - std::abs(v - row)) * vectors[row * width + column].*component;
  return sum;
}

Status deform(const stage::Deform::Problem& p, const Device&, const stage::Deform::Buffers& b,
              PlanState*) {
  const Wide half = (p.grid.window - 1) / 2.0L;
  for (int y = -p.margin; y < p.size.height + p.margin; ++y)
    for (int x = -p.margin; x < p.size.width + p.margin; ++x) {
      const Wide u = (x - p.grid.left - half) / p.grid.spacing,
                 v = (y - p.grid.top - half) / p.grid.spacing;
      const Wide at_x = x + p.share * between(p, b.vectors, &FieldVector::dx, u, v),
                 at_y = y + p.share * between(p, b.vectors, &FieldVector::dy, u, v);
      const Wide value =
          value_at(p.degree, b.coefficients, p.size, std::clamp<Wide>(at_x, 0, p.size.width - 1),
                   std::clamp<Wide>(at_y, 0, p.size.height - 1));
      const auto set = [&]<class T>(T pixel) {
        row_of<T>(b.deformed, p.pitch, y + p.margin)[x + p.margin] = pixel;
      };
      const Wide gray = std::floor(value + 0.5L);
      if (p.type == ElementType::u8)
        set(static_cast<std::uint8_t>(std::clamp<Wide>(gray, 0, 255)));
      else if (p.type == ElementType::u16)
        set(static_cast<std::uint16_t>(std::clamp<Wide>(gray, 0, 65535)));
      else
        set(static_cast<float>(value));
    }
  return {};
}

// ---- fit ------------------------------------------------------------------------------------

struct Fitted {
  std::vector<Wide> warp;  ///< dx, dy, and slopes as in FieldWarp
  Wide score = 0, sigma = 0;
  bool good = false;
};

/// Half of (u, v) times the matrix of second slopes times (u, v), of each component.
std::pair<Wide, Wide> bent(const FieldBend& b, Wide u, Wide v) {
  return {(b.dx_by_xx * u * u + 2 * b.dx_by_xy * u * v + b.dx_by_yy * v * v) / 2,
          (b.dy_by_xx * u * u + 2 * b.dy_by_xy * u * v + b.dy_by_yy * v * v) / 2};
}

class Fit {
 public:
  Fit(const stage::Fit::Problem& p, const stage::Fit::Buffers& b, const InterrogationWindow& window,
      const FieldBend& bend)
      : p_(p), b_(b), window_(window), bend_(bend) {}

  Fitted run() {
    Fitted f;
    f.warp = {window_.dx, window_.dy, 0, 0, 0, 0};
    if (p_.order > 0)
      f.warp = {window_.dx,      window_.dy,      window_.dx_by_x,
                window_.dx_by_y, window_.dy_by_x, window_.dy_by_y};
    collect();
    const Wide half = p_.window / 2.0L;
    if (!(variance_ > 1e-6L * squares_)) return f;
    for (int i = 0; i < 10; ++i) {
      std::vector<Wide> change;
      if (!step(f, change)) return {f.warp, f.score, f.sigma, false};
      Wide length = 0;
      for (const Wide c : change) length += c * c;
      f.good = length < half * half;
      if (!f.good) return f;
      compose(f.warp, change, half);
      const Wide reach = std::max<Wide>(2, half / 2);
      f.good = std::abs(f.warp[0] - window_.dx) <= reach &&
               std::abs(f.warp[1] - window_.dy) <= reach && f.score > 0;
      if (!f.good || length <= 1e-5L) return f;
    }
    return f;
  }

 private:
  struct Pixel {
    Wide u, v, weight, value;
    std::vector<Wide> by;
  };

  Wide reference(int x, int y) const {
    return pixel_of(p_.type, b_.reference, p_.pitch, std::clamp(x, 0, p_.frame.width - 1),
                    std::clamp(y, 0, p_.frame.height - 1));
  }
  Wide frame(Wide x, Wide y) const { return value_at(p_.degree, b_.coefficients, p_.frame, x, y); }

  void collect() {
    Wide sum = 0;
    const Wide half = p_.window / 2.0L;
    const Wide middle = reference(window_.x + p_.window / 2, window_.y + p_.window / 2);
    for (int y = 0; y < p_.window; ++y)
      for (int x = 0; x < p_.window; ++x) {
        const int px = window_.x + x, py = window_.y + y;
        if (p_.masked && !b_.mask[std::int64_t{py} * p_.frame.width + px]) continue;
        Pixel pixel{
            x - (p_.window - 1) / 2.0L, y - (p_.window - 1) / 2.0L, 1, reference(px, py), {}};
        if (p_.weight_sigma > 0)
          pixel.weight = std::exp(-(pixel.u * pixel.u + pixel.v * pixel.v) /
                                  (2 * Wide(p_.weight_sigma) * p_.weight_sigma));
        const auto slope = [&](int i, int j) {
          return (reference(px - 2 * i, py - 2 * j) - 8 * reference(px - i, py - j) +
                  8 * reference(px + i, py + j) - reference(px + 2 * i, py + 2 * j)) /
                 12;
        };
        const Wide by_x = slope(1, 0), by_y = slope(0, 1);
        pixel.by = {by_x, by_y};
        if (p_.order > 0)
          for (const Wide by : {by_x, by_y})
            for (const Wide place : {pixel.u, pixel.v}) pixel.by.push_back(by * place / half);
        weight_ += pixel.weight;
        sum += pixel.weight * pixel.value;
        squares_ += pixel.weight * (pixel.value - middle) * (pixel.value - middle);
        pixels_.push_back(pixel);
      }
    if (weight_ == 0) return;
    for (Pixel& pixel : pixels_) {
      pixel.value -= sum / weight_;
      variance_ += pixel.weight * pixel.value * pixel.value;
    }
  }

  /// False where the pixels do not determine the unknowns.
  bool step(Fitted& f, std::vector<Wide>& change) {
    const std::size_t n = p_.order > 0 ? 6 : 2;
    std::vector<Wide> seen;
    Wide mean = 0, squares = 0, product = 0;
    for (const Pixel& p : pixels_) {
      const auto [bent_x, bent_y] = bent(bend_, p.u, p.v);
      seen.push_back(frame((window_.x + (p_.window - 1) / 2.0L) + p.u + f.warp[0] +
                               f.warp[2] * p.u + f.warp[3] * p.v + bent_x,
                           (window_.y + (p_.window - 1) / 2.0L) + p.v + f.warp[1] +
                               f.warp[4] * p.u + f.warp[5] * p.v + bent_y));
      mean += p.weight * seen.back() / weight_;
    }
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
      seen[i] -= mean;
      squares += pixels_[i].weight * seen[i] * seen[i];
      product += pixels_[i].weight * seen[i] * pixels_[i].value;
    }
    if (!(squares > 0)) return false;
    f.score = product / std::sqrt(squares * variance_);
    const Wide gain = std::sqrt(variance_ / squares);
    // The matrix, the right side and the identity, whose place the inverse takes.
    std::vector<std::vector<Wide>> rows(n, std::vector<Wide>(2 * n + 1, 0));
    Wide left = 0;
    for (std::size_t k = 0; k < pixels_.size(); ++k) {
      const Pixel& p = pixels_[k];
      const Wide rest = p.value - gain * seen[k];
      left += p.weight * rest * rest;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) rows[i][j] += p.weight * p.by[i] * p.by[j];
        rows[i][n] -= p.weight * p.by[i] * rest;
      }
    }
    for (std::size_t i = 0; i < n; ++i) rows[i][n + 1 + i] = 1;
    for (std::size_t i = 0; i < n; ++i) {
      const Wide pivot = rows[i][i];
      if (!(pivot > 0)) return false;
      for (Wide& value : rows[i]) value /= pivot;
      for (std::size_t k = 0; k < n; ++k) {
        if (k == i) continue;
        const Wide factor = rows[k][i];
        for (std::size_t j = 0; j <= 2 * n; ++j) rows[k][j] -= factor * rows[i][j];
      }
    }
    change.clear();
    for (const auto& row : rows) change.push_back(row[n]);
    f.sigma =
        std::sqrt(left / std::max<Wide>(1, weight_ - n) * (rows[0][n + 1] + rows[1][n + 2]) / 2);
    return true;
  }

  /// The warp after the inverse of the change: their matrices' product.
  static void compose(std::vector<Wide>& warp, std::vector<Wide> change, Wide half) {
    change.resize(6);
    for (std::size_t i = 2; i < 6; ++i) change[i] /= half;
    const Wide a = 1 + change[2], b = change[3], c = change[4], d = 1 + change[5];
    const Wide det = a * d - b * c;
    const Wide inverse[2][3] = {{d / det, -b / det, (b * change[1] - d * change[0]) / det},
                                {-c / det, a / det, (c * change[0] - a * change[1]) / det}};
    const Wide whole[2][3] = {{1 + warp[2], warp[3], warp[0]}, {warp[4], 1 + warp[5], warp[1]}};
    Wide made[2][3];
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        made[i][j] =
            whole[i][0] * inverse[0][j] + whole[i][1] * inverse[1][j] + (j == 2 ? whole[i][2] : 0);
    warp = {made[0][2], made[1][2], made[0][0] - 1, made[0][1], made[1][0], made[1][1] - 1};
  }

  const stage::Fit::Problem& p_;
  const stage::Fit::Buffers& b_;
  const InterrogationWindow& window_;
  const FieldBend& bend_;
  std::vector<Pixel> pixels_;
  Wide weight_ = 0, variance_ = 0;
  Wide squares_ = 0;  ///< about the middle pixel
};

FieldVector fit(const stage::Fit::Problem& p, const stage::Fit::Buffers& b, int index) {
  const InterrogationWindow& window = b.windows[index];
  FieldVector vector = b.measured[index];
  const bool of_order = p.order == 2 && vector.status == FieldStatus::ok;
  const bool wanted = p.again ? vector.status == FieldStatus::replaced || of_order
                              : vector.status != FieldStatus::flat;
  if (window.status != FieldStatus::ok || !wanted) return vector;
  const FieldBend bend = p.order == 2 ? b.bends[index] : FieldBend{};
  const Fitted f = Fit(p, b, window, bend).run();
  if (!f.good) {
    if (!p.again && vector.status == FieldStatus::ok) vector.status = FieldStatus::replaced;
    return vector;
  }
  const Wide unexplained = (1 - 12 / (Wide(p.window) * p.window)) * (1 - Wide(vector.score));
  const Wide least = vector.status == FieldStatus::ok ? 1 - unexplained : vector.score - 0.05F;
  if (p.again &&
      (f.score <= least || f.score < p.limits.min_score || vector.ratio < p.limits.min_ratio))
    return vector;
  vector.x = static_cast<float>(window.x + window.node_x + (p.window - 1) / 2.0L);
  vector.y = static_cast<float>(window.y + window.node_y + (p.window - 1) / 2.0L);
  std::vector<Wide> w = f.warp;
  if (p.symmetric) {
    const Wide x = window.node_x - w[0] / 2, y = window.node_y - w[1] / 2;
    const bool own = p.order > 0;
    const auto [bent_x, bent_y] = bent(bend, x, y);
    w[0] += (own ? w[2] : window.dx_by_x) * x + (own ? w[3] : window.dx_by_y) * y + bent_x;
    w[1] += (own ? w[4] : window.dy_by_x) * x + (own ? w[5] : window.dy_by_y) * y + bent_y;
  }
  vector.dx = static_cast<float>(w[0]);
  vector.dy = static_cast<float>(w[1]);
  vector.dx_by_x = static_cast<float>(w[2]);
  vector.dx_by_y = static_cast<float>(w[3]);
  vector.dy_by_x = static_cast<float>(w[4]);
  vector.dy_by_y = static_cast<float>(w[5]);
  vector.score = static_cast<float>(f.score);
  vector.sigma = static_cast<float>(f.sigma);
  vector.status = FieldStatus::ok;
  return vector;
}

Status fit_all(const stage::Fit::Problem& p, const Device&, const stage::Fit::Buffers& b,
               PlanState*) {
  for (int i = 0; i < p.count; ++i) b.vectors[i] = fit(p, b, i);
  return {};
}

constexpr Variant<stage::Spline> spline_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = spline}},
};
constexpr Variant<stage::Deform> deform_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = deform}},
};
constexpr Variant<stage::Fit> fit_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask}},
     {.launch = fit_all}},
};

}  // namespace

Family reference_fits_family() { return Family(spline_table, deform_table, fit_table); }

}  // namespace xcorr::cpu
