// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the CPU. The pixel's size is a constant of each loop so that the
// compiler can vectorise it.
#include "stages/luma.hpp"

#include <algorithm>
#include <numeric>

#include <xcorr/match.hpp>

namespace xcorr {
namespace {

/// By value: bytes that are written could be those of a reference.
template <int bytes>
void convert_as(LumaCopy copy) {
  for (int y = 0; y < copy.size.height; ++y) {
    const std::uint8_t* from = copy.from + y * copy.from_pitch;
    std::uint8_t* to = copy.to + y * copy.to_pitch;
    for (int x = 0; x < copy.size.width; ++x) to[x] = luma_of<bytes>(copy.pixels, from + x * bytes);
  }
}

void convert(const LumaCopy& copy) {
  constexpr void (*of_bytes[])(LumaCopy) = {convert_as<1>, convert_as<2>, convert_as<3>,
                                            convert_as<4>};
  of_bytes[copy.pixels.bytes - 1](copy);
}

bool is_valid(const MatrixView& view) {
  const auto& [bytes, weights] = view.pixels;
  if (view.type != ElementType::u8) return view.pixels == PixelLayout{};
  return bytes >= 1 && bytes <= 4 &&
         std::all_of(weights, weights + 4, [](int w) { return w >= 0 && w <= 256; }) &&
         std::accumulate(weights, weights + bytes, 0) == 256;
}

}  // namespace

Status cpu::copy_luma(const LumaCopy& copy, Stream) {
  convert(copy);
  return {};
}

Status check_rows(const MatrixView& view, const std::string& name) {
  if (!is_valid(view)) return {Code::invalid_argument, name + " has a pixel layout that cannot be"};
  if (view.pitch < view.size.width * view.element_bytes())
    return {Code::invalid_argument, name + " has a pitch shorter than its rows"};
  return {};
}

void copy_luma(const MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch) {
  convert(
      {to, pitch, static_cast<const std::uint8_t*>(view.data), view.pitch, view.size, view.pixels});
}

}  // namespace xcorr
