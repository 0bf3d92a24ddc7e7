// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of the windows that stick out of the picture. The part of a window that lies in it is a
// rectangle, so what the template is there comes from sums over the rectangles from its corner on.
#include "stages/match/overhang_scores.hpp"

#include <utility>
#include <vector>

#include "cpu/common/common.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu {
namespace {

/// Of pixels of a template that count.
struct Inside {
  double counted = 0, sum = 0, squares = 0;

  Inside& operator+=(const Inside& other) {
    counted += other.counted;
    sum += other.sum;
    squares += other.squares;
    return *this;
  }
  Inside operator-(const Inside& other) const {
    return {counted - other.counted, sum - other.sum, squares - other.squares};
  }
};

/// Of any rectangle of a template.
class SummedTemplate {
 public:
  template <class T>
  SummedTemplate(const Matrix<T>& pixels, const std::uint8_t* mask)
      : pitch_(pixels.size.width + 1), sums_(pitch_ * (pixels.size.height + 1)) {
    const auto [width, height] = pixels.size;
    for (int y = 0; y < height; ++y) {
      Inside of_row;
      for (int x = 0; x < width; ++x) {
        const double t = pixels.row(y)[x];
        if (!mask || mask[std::int64_t{y} * width + x]) of_row += {1, t, t * t};
        Inside& here = at(x + 1, y + 1);
        here = at(x + 1, y);
        here += of_row;
      }
    }
  }
  Inside over(const Rect& r) const {
    return (at(r.x + r.width, r.y + r.height) - at(r.x, r.y + r.height)) -
           (at(r.x + r.width, r.y) - at(r.x, r.y));
  }

 private:
  Inside& at(int x, int y) { return sums_[y * pitch_ + x]; }
  const Inside& at(int x, int y) const { return sums_[y * pitch_ + x]; }

  std::int64_t pitch_;
  std::vector<Inside> sums_;
};

/// Pixel: of the pictures; the others: of the surfaces.
template <class Pixel, class Product, class Sum, class Squares>
class Overhanging {
 public:
  Overhanging(const stage::OverhangScores::Problem& p, const stage::OverhangScores::Buffers& b)
      : p_(p), b_(b), templates_(b.right_count) {
    parallel_for(0, b.right_count, [&](int r) {
      for (int plane = 0; plane < p.correlate.planes; ++plane)
        templates_[r].emplace_back(
            right_of<Pixel>(p.correlate, b.templates, b.first_right + r, plane), b.mask);
    });
  }

  void run() const {
    const Rect& shifts = p_.correlate.shifts;
    const Rect inside = places_inside();
    parallel_for(0, shifts.height, [&](int y) {
      for (int r = 0; r < b_.right_count; ++r) {
        const std::int64_t row = (std::int64_t{r} * shifts.height + y) * shifts.width;
        float* const to = b_.overhang_scores + row;
        if (to != b_.contrast_filtered + row)
          std::copy_n(b_.contrast_filtered + row, shifts.width, to);
        const bool is_in = y >= inside.y && y < inside.y + inside.height;
        const int first = is_in ? inside.x : shifts.width,
                  last = is_in ? first + inside.width : first;
        for (int x = 0; x < first; ++x) to[x] = score_at(r, x, y);
        for (int x = last; x < shifts.width; ++x) to[x] = score_at(r, x, y);
      }
    });
  }

 private:
  /// Where windows lie in the picture as they are.
  Rect places_inside() const {
    const Rect &shifts = p_.correlate.shifts, &picture = p_.overhang.picture;
    const auto along = [](int begin, int extent, int length, int shift, int count) {
      const int first = std::clamp(begin - shift, 0, count);
      return std::pair(first,
                       std::clamp(begin + extent - length + 1 - shift, first, count) - first);
    };
    const Size right = p_.correlate.right;
    const auto [x, width] = along(picture.x, picture.width, right.width, shifts.x, shifts.width);
    const auto [y, height] =
        along(picture.y, picture.height, right.height, shifts.y, shifts.height);
    return {x, y, width, height};
  }
  Rect seen(int x, int y) const {
    const Rect& shifts = p_.correlate.shifts;
    return p_.overhang.seen(shifts.x + x, shifts.y + y, p_.correlate.right);
  }
  ScoreTerms<double> terms_at(int r, int x, int y, int plane, const Rect& part) const {
    const Problem& p = p_.correlate;
    const Inside right = templates_[r][plane].over(part);
    const std::int64_t window = plane * windows_of(p) + std::int64_t{y} * p.shifts.width + x;
    const auto sum = static_cast<double>(static_cast<const Sum*>(b_.window_sums)[window]);
    const auto squares =
        static_cast<double>(static_cast<const Squares*>(b_.window_squares)[window]);
    auto product = static_cast<double>(static_cast<const Product*>(
        b_.products)[plane * p_.product_plane() + r * p_.products_stride() +
                     y * p_.products_pitch() + x]);
    if constexpr (std::is_floating_point_v<Product>)  // of the template less its mean
      product += sum * b_.template_sums[std::int64_t{plane} * p.rights + b_.first_right + r].sum /
                 static_cast<double>(p_.pixels());
    return ScoreTerms<double>(
        WindowTerms<double>{right.counted, product, sum, squares, right.sum, right.squares});
  }
  float score_at(int r, int x, int y) const {
    const Problem& p = p_.correlate;
    const float none = no_match(info(p_.method).minimum);
    const Rect part = seen(x, y);
    if (!p_.overhang.is_in_reach(p.shifts.x + x, p.shifts.y + y, p.right) ||
        !Overhang::permits(p_.overhang.most, static_cast<double>(p_.pixels()),
                           templates_[r][0].over(part).counted))
      return none;
    ScoreTerms<double> terms = terms_at(r, x, y, 0, part);
    for (int plane = 1; plane < p.planes; ++plane) terms += terms_at(r, x, y, plane, part);
    const ContrastRule& contrast = p_.contrast;
    if (contrast.least > 0 &&
        lacks_contrast(terms.n, terms.left_variance, p.planes, contrast.least))
      return none;
    return static_cast<float>(oriented(contrast.polarity, score(p_.method, terms)));
  }

  const stage::OverhangScores::Problem& p_;
  const stage::OverhangScores::Buffers& b_;
  std::vector<std::vector<SummedTemplate>> templates_;  ///< of each right, its planes
};

Status launch(const stage::OverhangScores::Problem& p, const Device&,
              const stage::OverhangScores::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const bool centred = p.products == ElementType::f32;
  const bool wide = p.correlate.output_type() == ElementType::u64;
  if (p.correlate.type == ElementType::f32)
    Overhanging<float, float, double, double>(p, b).run();
  else if (p.correlate.type == ElementType::u16)
    Overhanging<std::uint16_t, u64, u64, u64>(p, b).run();
  else if (centred && wide)
    Overhanging<u8, float, u32, u64>(p, b).run();
  else if (centred)
    Overhanging<u8, float, u32, u32>(p, b).run();
  else if (wide)
    Overhanging<u8, u64, u32, u64>(p, b).run();
  else
    Overhanging<u8, u32, u32, u32>(p, b).run();
  return {};
}

constexpr Variant<stage::OverhangScores> variants[] = {
    {{.name = "overhang_scores",
      .backend = Backend::cpu,
      .features = match_features |
                  Features(Feature::float_products, Feature::pitched_output, Feature::overhang)},
     {.launch = launch}},
};

}  // namespace

Family overhang_scores_family() { return Family(variants); }

}  // namespace xcorr::cpu
