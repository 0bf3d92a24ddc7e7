// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tracker/window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "match/image.hpp"

namespace xcorr {
namespace {

/// What one direction of the window is made of: each of its pixels is a weighted mean of `each`
/// pixels of the frame, `positions[i * each]` and so on.
struct Taps {
  int each = 0;
  std::vector<int> positions;
  std::vector<float> weights;
};

/// A triangle as wide as two pixels of the window, or of the frame where those are larger. Of large
/// windows only every `step`-th pixel of the frame is read, at least three a side of the triangle.
Taps taps_of(double begin, double side, int size, int length) {
  const double scale = side / size, half = std::max(1.0, scale);
  const int step = std::max(1, static_cast<int>(scale / 3));
  Taps taps;
  taps.each = 2 * static_cast<int>(std::ceil(half / step)) + 1;
  for (int i = 0; i < size; ++i) {
    const double middle = begin + (i + 0.5) * scale - 0.5;
    const int first = static_cast<int>(std::floor((middle - half) / step)) + 1;
    double sum = 0;
    const auto weight = [&](int k) {
      return std::max(0.0, 1 - std::abs((first + k) * step - middle) / half);
    };
    for (int k = 0; k < taps.each; ++k) sum += weight(k);
    for (int k = 0; k < taps.each; ++k) {
      taps.positions.push_back(std::clamp((first + k) * step, 0, length - 1));
      taps.weights.push_back(static_cast<float>(weight(k) / sum));
    }
  }
  return taps;
}

/// The part of a frame in host memory, as luma, a byte each.
struct Pixels {
  std::vector<std::byte> copied;
  const std::uint8_t* data;
  std::ptrdiff_t pitch;
};

Result<Pixels> pixels_of(const MatrixView& frame, const Runtime& runtime, const Rect& part) {
  const std::ptrdiff_t bytes = frame.element_bytes();
  MatrixView view = frame;
  view.data = static_cast<const std::byte*>(frame.data) + part.y * frame.pitch + part.x * bytes;
  view.size = part.size();
  std::vector<std::byte> copied;
  if (frame.memory == Memory::device) {
    const std::ptrdiff_t row = part.width * bytes;
    copied.resize(row * part.height);
    const Copy copy{copied.data(),
                    row,
                    view.data,
                    view.pitch,
                    static_cast<std::size_t>(row),
                    static_cast<std::size_t>(part.height)};
    if (Status s = runtime.copy(copy, Memory::device, Memory::host, {}); !s.ok()) return s;
    if (Status s = runtime.wait({}); !s.ok()) return s;
    view.data = copied.data();
    view.pitch = row;
    view.memory = Memory::host;
  }
  if (!(view.pixels == PixelLayout())) {
    copied = dense_copy(view);
    view.data = copied.data();
    view.pitch = part.width;
  }
  return Pixels{std::move(copied), static_cast<const std::uint8_t*>(view.data), view.pitch};
}

}  // namespace

Result<std::vector<float>> window_of(const MatrixView& frame, const Runtime& runtime,
                                     const Square& part, int size) {
  const Taps across = taps_of(part.x - part.side / 2, part.side, size, frame.size.width);
  const Taps down = taps_of(part.y - part.side / 2, part.side, size, frame.size.height);
  const Rect read{across.positions.front(), down.positions.front(),
                  across.positions.back() + 1 - across.positions.front(),
                  down.positions.back() + 1 - down.positions.front()};
  const auto pixels = pixels_of(frame, runtime, read);
  if (!pixels.ok()) return pixels.status();
  std::vector<float> window(static_cast<std::size_t>(size) * size), row(read.width);
  for (int y = 0; y < size; ++y) {
    std::ranges::fill(row, 0.0f);
    for (int k = y * down.each; k < (y + 1) * down.each; ++k) {
      if (down.weights[k] == 0) continue;
      const std::uint8_t* from =
          pixels.value().data + (down.positions[k] - read.y) * pixels.value().pitch;
      for (int x = 0; x < read.width; ++x) row[x] += down.weights[k] * static_cast<float>(from[x]);
    }
    for (int x = 0; x < size; ++x) {
      float sum = 0;
      for (int k = x * across.each; k < (x + 1) * across.each; ++k)
        sum += across.weights[k] * row[across.positions[k] - read.x];
      window[static_cast<std::size_t>(y) * size + x] = sum;
    }
  }
  return window;
}

}  // namespace xcorr
