// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The similarity of one place, without a plan.
#include <xcorr/window_matcher.hpp>

#include "cpu/match/place_sums.hpp"
#include "match/similarity.hpp"
#include "stages/match/score.hpp"
#include "stages/match/templates.hpp"

namespace xcorr {
namespace {

bool is_of_bytes(const MatrixView& view) {
  return view.data && view.type == ElementType::u8 && view.memory == Memory::host &&
         view.pixels.bytes == 1;
}

cpu::Matrix<std::uint8_t> matrix_at(const MatrixView& view, int x, int y, Size size) {
  return {static_cast<const std::byte*>(view.data) + y * view.pitch + x, view.pitch, size};
}

}  // namespace

std::optional<double> similarity_at(const MatrixView& frame, int x, int y,
                                    const MatrixView& picture, Method method) {
  const Size size = picture.size;
  if (!is_of_bytes(frame) || !is_of_bytes(picture) || size.area() > cpu::most_place_pixels ||
      method == Method::orientation)
    return std::nullopt;
  if (x < 0 || y < 0 || x > frame.size.width - size.width || y > frame.size.height - size.height)
    return std::nullopt;
  const cpu::PlaceSums sums =
      cpu::place_sums(matrix_at(frame, x, y, size), matrix_at(picture, 0, 0, size));
  const WindowTerms<std::int64_t> window{size.area(),       sums.product,   sums.left_sum,
                                         sums.left_squares, sums.right_sum, sums.right_squares};
  const ScoreTerms<std::int64_t> terms(window);
  const TemplateSums right{double(sums.right_sum), double(sums.right_squares),
                           double(terms.right_variance)};
  return Similarity(method, double(size.area()), right).of(score(method, terms));
}

}  // namespace xcorr
