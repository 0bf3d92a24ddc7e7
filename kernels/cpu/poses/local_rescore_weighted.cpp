// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of warped templates whose pixels have weights, on the CPU: their images have
// weights, too, by which all sums are weighed.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/poses/rescored.hpp"
#include "cpu/poses/warped.hpp"
#include "stages/common/rows.hpp"

namespace xcorr::cpu {
namespace {

/// An image of a try.
template <class T>
class WeightedImage {
  /// Of a pixel, its weight and one of a window; of so many pixels in a row.
  using RowSum =
      std::conditional_t<std::is_floating_point_v<T>, double,
                         std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>>;
  static constexpr int most = 256;
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  /// Bytes with weights are as wide as words.
  using Term = std::conditional_t<std::is_floating_point_v<T>, double, Int128>;

 public:
  WeightedImage(const stage::LocalRescore::Problem& p, const stage::LocalRescore::Buffers& b,
                const WarpMap& map)
      : size_{map.width, map.height}, operands_(p.planes * size_.area()), weights_(size_.area()) {
    std::vector<T> pixels(size_.area());
    std::vector<std::uint8_t> counts(size_.area());
    for (int plane = 0; plane < p.planes; ++plane) {
      const WarpedTemplate from(p.pyramid, row_of<T>(b.pixels, 0, 0) + plane * p.pyramid.area(),
                                b.mask, map.level);
      warped(from, map, map.width, pixels.data(), counts.data());
      Right& right = rights_.emplace_back();
      for (int i = 0; i < size_.area(); ++i) {
        if (!counts[i]) continue;
        if (plane == 0) {
          weights_[i] = warped_weight(from, map, i % map.width, i / map.width);
          counted_ += weights_[i];
        }
        const RowSum operand = RowSum(weights_[i]) * pixels[i];
        operands_[plane * size_.area() + i] = operand;
        right.sum += operand;
        right.squares += Sum(operand) * pixels[i];
      }
    }
  }

  std::int64_t counted() const { return counted_; }
  void find_counted() {}
  Rect part_at(const stage::LocalRescore::Problem& p, int x, int y) const {
    const bool inside =
        x >= 0 && y >= 0 && x + size_.width <= p.frame.width && y + size_.height <= p.frame.height;
    return inside ? Rect{0, 0, size_.width, size_.height} : Rect{};
  }
  ScoreTerms<Term> terms(const stage::LocalRescore::Problem& p,
                         const stage::LocalRescore::Buffers& b, int x, int y, int plane,
                         const Rect&) const {
    Sum product = 0, sum = 0, squares = 0;
    for (int v = 0; v < size_.height; ++v) {
      const T* const f = row_of<T>(b.frame + plane * p.plane, p.pitch, y + v) + x;
      const RowSum* const w = &weights_[std::int64_t{v} * size_.width];
      const RowSum* const wt = &operands_[(std::int64_t{plane} * size_.height + v) * size_.width];
      for (int first = 0; first < size_.width; first += most) {
        RowSum of_row[3] = {};
        for (int u = first; u < std::min(first + most, size_.width); ++u) {
          const RowSum here = f[u], weighed = w[u] * here;
          of_row[0] += wt[u] * here;
          of_row[1] += weighed;
          of_row[2] += weighed * here;
        }
        product += of_row[0];
        sum += of_row[1];
        squares += of_row[2];
      }
    }
    const Right& right = rights_[plane];
    return score_terms(p.method,
                       WindowTerms<Term>{Term(counted_), Term(product), Term(sum), Term(squares),
                                         Term(right.sum), Term(right.squares)});
  }

 private:
  /// Of a plane.
  struct Right {
    Sum sum = 0, squares = 0;
  };

  Size size_;
  std::vector<RowSum> operands_;  ///< of all planes, the pixels times their weights
  std::vector<RowSum> weights_;
  std::vector<Right> rights_;
  std::int64_t counted_ = 0;
};

/// Of luma and of colour, inside the frame.
bool supports(const stage::LocalRescore::Problem& p, const Device&) {
  return p.masking.weighted && !p.edges.made;
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore_weighted",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes, Feature::weights}},
     {.supports = supports, .launch = rescore_all<WeightedImage>}},
};

}  // namespace

Family local_rescore_weighted_family() { return Family(table); }

}  // namespace xcorr::cpu
