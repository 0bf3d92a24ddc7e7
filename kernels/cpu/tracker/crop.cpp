// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned parts of a frame on the CPU, an image a thread: the luma of all that it reads is made
// first.
#include "stages/tracker/crop.hpp"

#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

using namespace tracker;

/// The luma of a part of a frame, whose edge pixels are repeated.
struct LumaPart {
  std::int64_t left, top;
  int width, height;
  std::vector<std::uint8_t> values;

  /// Makes it what an image reads, unless that is too much.
  bool covers(const Cropping& from) {
    constexpr int last = window_size - 1;
    const std::int64_t n = std::int64_t{last} * from.samples + from.samples - 1;
    const std::int64_t xs[] = {from.x, from.x + n * from.x_by_column, from.x + n * from.x_by_row,
                               from.x + n * (std::int64_t{from.x_by_column} + from.x_by_row)};
    const std::int64_t ys[] = {from.y, from.y + n * from.y_by_column, from.y + n * from.y_by_row,
                               from.y + n * (std::int64_t{from.y_by_column} + from.y_by_row)};
    left = std::ranges::min(xs) >> 16, top = std::ranges::min(ys) >> 16;
    const std::int64_t wide = (std::ranges::max(xs) >> 16) + 2 - left,
                       high = (std::ranges::max(ys) >> 16) + 2 - top;
    if (wide > most_side || high > most_side || wide * high > most_pixels) return false;
    width = static_cast<int>(wide), height = static_cast<int>(high);
    return true;
  }

  template <int bytes>
  void read(const stage::Crop::Problem& p, const std::uint8_t* pixels) {
    values.resize(static_cast<std::size_t>(width) * height);
    const auto within = [](std::int64_t at, int begin, int length) {
      return std::clamp<std::int64_t>(at - begin, 0, length - 1);
    };
    // Columns from the first one that is there to the last; the others repeat these.
    const int begin = static_cast<int>(std::clamp<std::int64_t>(p.part.x - left, 0, width - 1));
    const int end = static_cast<int>(
        std::clamp<std::int64_t>(p.part.x + p.part.width - left, begin + 1, width));
    for (int y = 0; y < height; ++y) {
      std::uint8_t* const row = &values[static_cast<std::size_t>(y) * width];
      const std::uint8_t* const from = pixels + within(top + y, p.part.y, p.part.height) * p.pitch +
                                       within(left + begin, p.part.x, p.part.width) * bytes;
      for (int x = begin; x < end; ++x)
        row[x] = luma_of<bytes>(p.layout, from + std::int64_t{x - begin} * bytes);
      std::fill(row, row + begin, row[begin]);
      std::fill(row + end, row + width, row[end - 1]);
    }
  }

  std::uint32_t between(std::int32_t x, std::int32_t y) const {
    const std::uint8_t* const at = &values[static_cast<std::size_t>(y >> 16) * width + (x >> 16)];
    const auto across = static_cast<std::uint32_t>(x >> 8 & 255);
    const auto down = static_cast<std::uint32_t>(y >> 8 & 255);
    const std::uint32_t upper = at[0] * (256 - across) + at[1] * across;
    const std::uint32_t lower = at[width] * (256 - across) + at[width + 1] * across;
    return upper * (256 - down) + lower * down;
  }

 private:
  /// Of sides, so that places are of 32 bits; and of what is made at a time.
  static constexpr std::int64_t most_side = (1 << 15) - 1, most_pixels = 1 << 22;
};

void fill(const LumaPart& part, const Cropping& from, std::uint8_t* image) {
  const auto x0 = static_cast<std::int32_t>(from.x - (part.left << 16));
  const auto y0 = static_cast<std::int32_t>(from.y - (part.top << 16));
  const auto places = static_cast<std::uint32_t>(from.samples * from.samples) << 16;
  for (int row = 0; row < window_size; ++row)
    for (int column = 0; column < window_size; ++column) {
      const std::int32_t i = column * from.samples, j = row * from.samples;
      const std::int32_t x = x0 + i * from.x_by_column + j * from.x_by_row;
      const std::int32_t y = y0 + i * from.y_by_column + j * from.y_by_row;
      std::uint32_t sum = 0;
      for (int n = 0; n < from.samples; ++n)
        for (int m = 0; m < from.samples; ++m)
          sum += part.between(x + m * from.x_by_column + n * from.x_by_row,
                              y + m * from.y_by_column + n * from.y_by_row);
      *image++ = static_cast<std::uint8_t>((sum + places / 2) / places);
    }
}

template <int bytes>
void crop(const stage::Crop::Problem& p, const stage::Crop::Buffers& b) {
  parallel_for(0, p.images, [&](int i) {
    const Cropping& from = b.croppings[i];
    if (from.samples == 0) return;
    std::uint8_t* const image = b.images + std::int64_t{i} * window_size * window_size;
    static thread_local LumaPart part;
    if (part.covers(from)) {
      part.read<bytes>(p, b.pixels);
      return fill(part, from, image);
    }
    for (int pixel = 0; pixel < window_size * window_size; ++pixel)
      image[pixel] = cropped<bytes>(p, b.pixels, from, pixel % window_size, pixel / window_size);
  });
}

Status launch(const stage::Crop::Problem& p, const Device&, const stage::Crop::Buffers& b,
              PlanState*) {
  constexpr void (*of_bytes[])(const stage::Crop::Problem&, const stage::Crop::Buffers&) = {
      crop<1>, crop<2>, crop<3>, crop<4>};
  of_bytes[p.layout.bytes - 1](p, b);
  return {};
}

constexpr Variant<stage::Crop> table[] = {
    {{.name = "crop", .backend = Backend::cpu, .features = Feature::u8}, {.launch = launch}},
};

}  // namespace

Family crop_family() { return Family(table); }

}  // namespace xcorr::cpu
