// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/image.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "select/select.hpp"
#include "stages/image/luma.hpp"

namespace xcorr {
namespace {

bool is_valid(const MatrixView& view) {
  const auto& [bytes, weights] = view.pixels;
  if (view.type != ElementType::u8) return view.pixels == PixelLayout{};
  return bytes >= 1 && bytes <= 4 &&
         std::all_of(weights, weights + 4, [](int w) { return w >= 0 && w <= 256; }) &&
         std::accumulate(weights, weights + bytes, 0) == 256;
}

/// Whether all elements are like the first.
template <class Alike>
bool all_alike(const MatrixView& view, const Alike& alike) {
  const auto* first = static_cast<const std::uint8_t*>(view.data);
  for (int y = 0; y < view.size.height; ++y)
    for (int x = 0; x < view.size.width; ++x)
      if (!alike(view, first, first + y * view.pitch + x * view.element_bytes())) return false;
  return true;
}

bool bytes_alike(const MatrixView& view, const std::uint8_t* a, const std::uint8_t* b) {
  return std::memcmp(a, b, size_of(view.type)) == 0;
}

template <int bytes>
bool is_flat_luma(const MatrixView& view) {
  return all_alike(view, [](const MatrixView& v, const std::uint8_t* a, const std::uint8_t* b) {
    return luma_of<bytes>(v.pixels, a) == luma_of<bytes>(v.pixels, b);
  });
}

}  // namespace

Status check_rows(const MatrixView& view, const std::string& name) {
  if (!is_valid(view)) return {Code::invalid_argument, name + " has a pixel layout that cannot be"};
  const std::ptrdiff_t row = view.size.width * view.element_bytes();
  const bool upwards = view.type == ElementType::u8 && view.pitch <= -row;
  if (view.pitch < row && !upwards)
    return {Code::invalid_argument, name + " has a pitch shorter than its rows"};
  return {};
}

Status check_color(const MatrixView& view, const std::string& name) {
  if (!view.has_color()) return {};
  const bool bytes = view.type == ElementType::u8;
  for (const ColorPlane& plane : view.color) {
    const auto is_shift = [bytes](int shift) { return shift == 0 || (bytes && shift == 1); };
    if (!plane.data || plane.step < 1 || plane.step > (bytes ? 4 : 1) || plane.position < 0 ||
        plane.position >= plane.step || !is_shift(plane.shift_x) || !is_shift(plane.shift_y))
      return {Code::invalid_argument, name + " has planes of colour that cannot be"};
    const std::ptrdiff_t pixels = ((view.size.width - 1) >> plane.shift_x) + 1;
    const auto row = pixels * plane.step * static_cast<std::ptrdiff_t>(size_of(view.type));
    if (plane.pitch < row && !(bytes && plane.pitch <= -row))
      return {Code::invalid_argument, name + " has a plane with a pitch shorter than its rows"};
  }
  return {};
}

std::vector<std::byte> dense_copy(const MatrixView& view) {
  const std::size_t row = view.size.width * size_of(view.type);
  std::vector<std::byte> copy(row * view.size.height);
  if (view.type == ElementType::u8) {
    copy_luma(view, reinterpret_cast<std::uint8_t*>(copy.data()), view.size.width);
    return copy;
  }
  for (int y = 0; y < view.size.height; ++y)
    std::memcpy(copy.data() + y * row, static_cast<const std::byte*>(view.data) + y * view.pitch,
                row);
  return copy;
}

std::vector<std::byte> dense_color(const MatrixView& view) {
  const std::size_t element = size_of(view.type);
  std::vector<std::byte> copy(color_planes * element * view.size.area());
  std::byte* to = copy.data();
  for (const ColorPlane& plane : view.color)
    for (int y = 0; y < view.size.height; ++y) {
      const auto* const row =
          static_cast<const std::byte*>(plane.data) + (y >> plane.shift_y) * plane.pitch;
      for (int x = 0; x < view.size.width; ++x, to += element)
        std::memcpy(to, row + ((x >> plane.shift_x) * plane.step + plane.position) * element,
                    element);
    }
  return copy;
}

void copy_luma(const MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch) {
  const stage::Luma::Problem problem{view.size, {{view.pixels, view.pitch}}, pitch};
  const Device cpu;
  const auto variant = select_variant<stage::Luma>(problem, cpu);
  const StopScope unheeded(nullptr);  // it is short, and nobody asks whether it was stopped
  // The CPU's variant supports all layouts.
  if (variant.ok())
    (void)variant.value()->launch(problem, cpu,
                                  {{}, static_cast<const std::uint8_t*>(view.data), to}, nullptr);
}

bool is_flat(const MatrixView& view) {
  if (view.type != ElementType::u8) return all_alike(view, bytes_alike);
  constexpr bool (*of_bytes[])(const MatrixView&) = {is_flat_luma<1>, is_flat_luma<2>,
                                                     is_flat_luma<3>, is_flat_luma<4>};
  return of_bytes[view.pixels.bytes - 1](view);
}

}  // namespace xcorr
