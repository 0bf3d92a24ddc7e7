// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of the windows that stick out of the picture.
#include "stages/match/overhang_scores.hpp"

#include <utility>
#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

/// Writes a template's RectangleSums.
template <class T>
void sum_rectangles(const Matrix<T>& pixels, const std::uint8_t* mask, InsideSums* sums) {
  const auto [width, height] = pixels.size;
  const std::int64_t pitch = RectangleSums::pitch(pixels.size);
  std::fill_n(sums, pitch, InsideSums());
  for (int y = 0; y < height; ++y) {
    const InsideSums* const above = sums + y * pitch;
    InsideSums* const row = sums + (y + 1) * pitch;
    InsideSums of_row;
    row[0] = {};
    for (int x = 0; x < width; ++x) {
      of_row += InsideSums::of(pixels.row(y)[x], !mask || mask[std::int64_t{y} * width + x]);
      row[x + 1] = above[x + 1];
      row[x + 1] += of_row;
    }
  }
}

/// Pixel: of the pictures; the others: of the surfaces.
template <class Pixel, class Product, class Sum, class Squares>
class Overhanging {
 public:
  Overhanging(const stage::OverhangScores::Problem& p, const stage::OverhangScores::Buffers& b)
      : p_(p),
        b_(b),
        sums_of_one_(p.correlate.planes * RectangleSums::count(p.correlate.right)),
        sums_(b.right_count * sums_of_one_) {
    parallel_for(0, b.right_count, [&](int r) {
      for (int plane = 0; plane < p.correlate.planes; ++plane)
        sum_rectangles(
            right_of<Pixel>(p.correlate, b.templates, b.first_right + r, plane), b.mask,
            sums_.data() + r * sums_of_one_ + plane * RectangleSums::count(p.correlate.right));
    });
  }

  void run() const {
    const Rect& shifts = p_.correlate.shifts;
    const Rect inside = places_inside();
    const bool minimum = info(p_.method).minimum;
    parallel_for(0, shifts.height, [&](int y) {
      for (int r = 0; r < b_.right_count; ++r) {
        const std::int64_t row = (std::int64_t{r} * shifts.height + y) * shifts.width;
        float* const to = b_.overhang_scores + row;
        if (to != b_.contrast_filtered + row)
          std::copy_n(b_.contrast_filtered + row, shifts.width, to);
        const auto score_at = [&](int x) {
          const Rect seen = p_.overhang.seen(shifts.x + x, shifts.y + y, p_.correlate.right);
          return overhang_score<Product, Sum, Squares>(
              p_, b_, minimum, sums_.data() + r * sums_of_one_, {r, x, y, seen});
        };
        const bool is_in = y >= inside.y && y < inside.y + inside.height;
        const int first = is_in ? inside.x : shifts.width,
                  last = is_in ? first + inside.width : first;
        for (int x = 0; x < first; ++x) to[x] = score_at(x);
        for (int x = last; x < shifts.width; ++x) to[x] = score_at(x);
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

  const stage::OverhangScores::Problem& p_;
  const stage::OverhangScores::Buffers& b_;
  const std::int64_t sums_of_one_;  ///< of a right
  std::vector<InsideSums> sums_;
};

Status launch(const stage::OverhangScores::Problem& p, const Device&,
              const stage::OverhangScores::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (p.correlate.type == ElementType::f32)
    Overhanging<float, float, double, double>(p, b).run();
  else if (p.correlate.type == ElementType::u16)
    Overhanging<std::uint16_t, u64, u64, u64>(p, b).run();
  else if (p.correlate.output_type() == ElementType::u64)
    Overhanging<u8, u64, u32, u64>(p, b).run();
  else
    Overhanging<u8, u32, u32, u32>(p, b).run();
  return {};
}

constexpr Variant<stage::OverhangScores> variants[] = {
    {{.name = "overhang_scores",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::pitched_output, Feature::overhang)},
     {.launch = launch}},
};

}  // namespace

Family overhang_scores_family() { return Family(variants); }

}  // namespace xcorr::cpu
