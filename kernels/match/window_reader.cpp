// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/window_reader.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "select/select.hpp"

namespace xcorr {

namespace {

/// Of so many bytes a kernel reads stacks over the bus; larger ones are uploaded first.
constexpr std::size_t most_over_bus = std::size_t{64} << 10;

/// More is copied by several threads: waking one for less does not pay.
constexpr std::size_t least_shared_out = std::size_t{64} << 10;

/// A stack of windows: one below the other, each of as many pixels of a plane as it may reach
/// wherever it begins.
struct Stack {
  Size reach;
  std::ptrdiff_t pitch, window;  ///< bytes from row to row, and from window to window

  Stack(const WindowPlane& p, Size size)
      : reach{reach_of(size.width, p.shift_x), reach_of(size.height, p.shift_y)},
        pitch(padded_pitch(std::int64_t{reach.width} * std::max(p.layout.bytes, 1))),
        window(pitch * reach.height) {}
  static int reach_of(int length, int shift) { return ((length - 1 + shift) >> shift) + 1; }
};

/// Whether they are the pixels of the plane before, too.
bool are_shared(const std::vector<WindowPlane>& planes, std::size_t i) {
  return i > 0 && planes[i].shares_pixels_of(planes[i - 1]);
}

}  // namespace

Result<WindowReader> WindowReader::make(const Device& device, Size window, int most, int planes) {
  WindowReader reader;
  reader.device_ = device;
  reader.runtime_ = &runtime(device.backend);
  reader.window_ = window;
  reader.most_ = most;
  reader.planes_ = planes;
  const auto variant =
      select_variant<stage::Luma>({.size = window, .parts = most, .image = window}, device);
  if (!variant.ok()) return variant.status();
  reader.luma_of_pixels_ = variant.value();
  auto event = Event::make(device.backend);
  if (!event.ok()) return event.status();
  reader.read_ = std::move(event.value());
  if (Status s =
          reader.corners_.provide(device.backend, planes * most * sizeof(PartCorner), Memory::host);
      !s.ok())
    return s;
  if (Status s = reader.luma_.provide(
          device.backend, static_cast<std::size_t>(std::int64_t{planes} * most * window.height *
                                                   padded_pitch(std::int64_t{window.width})));
      !s.ok())
    return s;
  return reader;
}

std::vector<WindowPlane> WindowReader::planes_of(const MatrixView& frame) const {
  const auto plane = [&](const void* data, std::ptrdiff_t pitch, const PixelLayout& layout,
                         int shift_x, int shift_y) -> WindowPlane {
    return {static_cast<const std::uint8_t*>(data),
            pitch,
            layout,
            shift_x,
            shift_y,
            frame.size,
            corners_.as<PartCorner>()};
  };
  if (planes_ == 1) return {plane(frame.data, frame.pitch, frame.pixels, 0, 0)};
  std::vector<WindowPlane> planes;
  for (const ColorPlane& p : frame.color)
    planes.push_back(plane(p.data, p.pitch, packed_luma(p.step, p.position), p.shift_x, p.shift_y));
  return planes;
}

/// Makes room in the block for stacks of the windows, and corners of windows in them.
Status WindowReader::provide_stacks(const std::vector<WindowPlane>& from,
                                    std::span<const PartCorner> corners, Block& block,
                                    Memory memory) {
  const auto count = static_cast<int>(corners.size());
  std::ptrdiff_t bytes = 0;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!are_shared(from, i)) bytes += Stack(from[i], window_).window * count;
  if (Status s = block.provide(device_.backend, static_cast<std::size_t>(bytes), memory); !s.ok())
    return s;
  stacked_ = from;
  stacked_bytes_ = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    WindowPlane& to = stacked_[i];
    if (are_shared(from, i)) {
      to = stacked_[i - 1];
      to.layout = from[i].layout;
      continue;
    }
    const Stack stack(to, window_);
    auto* const own = corners_.as<PartCorner>() + static_cast<std::ptrdiff_t>(i) * most_;
    for (int k = 0; k < count; ++k)
      own[k] = {corners[k].x & to.shift_x,
                ((k * stack.reach.height) << to.shift_y) + (corners[k].y & to.shift_y)};
    to.pixels = block.as<std::uint8_t>() + stacked_bytes_;
    to.pitch = stack.pitch;
    to.picture = {stack.reach.width << to.shift_x, (count * stack.reach.height) << to.shift_y};
    to.corners = own;
    stacked_bytes_ += static_cast<std::size_t>(stack.window) * corners.size();
  }
  return {};
}

/// Calls copy_rows(Copy) for all pixels of a window: what brings them to their stacks.
template <class CopyRows>
Status WindowReader::copy_windows(const std::vector<WindowPlane>& from, const PartCorner& at,
                                  std::size_t window, CopyRows copy_rows) const {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (are_shared(from, i)) continue;
    const WindowPlane& p = from[i];
    const int x = at.x >> p.shift_x, y = at.y >> p.shift_y, bytes = std::max(p.layout.bytes, 1);
    const int columns = ((at.x + window_.width - 1) >> p.shift_x) - x + 1;
    const int rows = ((at.y + window_.height - 1) >> p.shift_y) - y + 1;
    const Stack stack(p, window_);
    auto* const to = const_cast<std::uint8_t*>(stacked_[i].pixels) +
                     static_cast<std::ptrdiff_t>(window) * stack.window;
    if (Status s =
            copy_rows({to, stack.pitch, p.pixels + y * p.pitch + std::ptrdiff_t{x} * bytes, p.pitch,
                       static_cast<std::size_t>(columns) * bytes, static_cast<std::size_t>(rows)});
        !s.ok())
      return s;
  }
  return {};
}

Status WindowReader::pack(const MatrixView& frame, std::span<const PartCorner> corners) {
  if (Status s = read_.wait(); !s.ok()) return s;
  const std::vector<WindowPlane> planes = planes_of(frame);
  if (Status s = provide_stacks(planes, corners, packed_, Memory::host); !s.ok()) return s;
  if (stacked_bytes_ > most_over_bus)
    if (Status s = uploaded_.provide(device_.backend, stacked_bytes_); !s.ok()) return s;
  const auto pack_window = [&](std::size_t i) {
    (void)copy_windows(planes, corners[i], i, [](const Copy& copy) -> Status {
      auto* to = static_cast<std::byte*>(copy.to);
      const auto* from = static_cast<const std::byte*>(copy.from);
      for (std::size_t y = 0; y < copy.rows; ++y, to += copy.to_pitch, from += copy.from_pitch)
        std::memcpy(to, from, copy.bytes);
      return {};
    });
  };
  if (stacked_bytes_ <= least_shared_out)
    for (std::size_t i = 0; i < corners.size(); ++i) pack_window(i);
  else
    tbb::parallel_for(std::size_t{0}, corners.size(), pack_window);
  return {};
}

Result<Rows> WindowReader::read_packed(std::size_t windows, Stream stream) {
  if (stacked_bytes_ <= most_over_bus) return read_planes(stacked_, windows, stream);
  const Copy copy = bytes_copy(uploaded_.data(), packed_.data(), stacked_bytes_);
  if (Status s = runtime_->copy(copy, Memory::host, Memory::device, stream); !s.ok()) return s;
  std::vector<WindowPlane> planes = stacked_;
  for (WindowPlane& p : planes)
    p.pixels = uploaded_.as<std::uint8_t>() + (p.pixels - packed_.as<std::uint8_t>());
  return read_planes(planes, windows, stream);
}

/// Copies the windows of a frame on another device into stacks of them on this one.
Status WindowReader::fetch(const std::vector<WindowPlane>& from,
                           std::span<const PartCorner> corners, Stream stream) {
  if (Status s = provide_stacks(from, corners, fetched_, Memory::device); !s.ok()) return s;
  const auto copy_on_devices = [&](const Copy& copy) {
    return runtime_->copy(copy, Memory::device, Memory::device, stream);
  };
  const auto copy_rows = [&](const Copy& all) -> Status {
    if (all.from_pitch > 0) return copy_on_devices(all);
    // Copies need rows that follow each other downwards.
    for (std::size_t y = 0; y < all.rows; ++y) {
      const auto row = static_cast<std::ptrdiff_t>(y);
      if (Status s = copy_on_devices(bytes_copy(
              static_cast<std::byte*>(all.to) + row * all.to_pitch,
              static_cast<const std::byte*>(all.from) + row * all.from_pitch, all.bytes));
          !s.ok())
        return s;
    }
    return {};
  };
  for (std::size_t i = 0; i < corners.size(); ++i)
    if (Status s = copy_windows(from, corners[i], i, copy_rows); !s.ok()) return s;
  return {};
}

Result<Rows> WindowReader::read_planes(const std::vector<WindowPlane>& planes, std::size_t windows,
                                       Stream stream) {
  const std::int64_t pitch = padded_pitch(std::int64_t{window_.width});
  const std::int64_t window = pitch * window_.height, plane = window * most_;
  auto* to = luma_.as<std::uint8_t>();
  for (const WindowPlane& p : planes) {
    stage::Luma::Source from{p.layout, p.pitch};
    from.halved_x = p.shift_x;
    from.halved_y = p.shift_y;
    const stage::Luma::Problem problem{window_,   {from}, pitch, static_cast<int>(windows),
                                       p.picture, window};
    if (Status s = luma_of_pixels_->launch(problem, device_,
                                           {{nullptr, stream}, p.pixels, to, p.corners}, nullptr);
        !s.ok())
      return s;
    to += plane;
  }
  return Rows{luma_.as<std::uint8_t>(), pitch, plane};
}

Result<Rows> WindowReader::read(const MatrixView& frame, std::span<const PartCorner> corners,
                                Stream stream) {
  if (frame.memory == Memory::host) {
    if (Status s = pack(frame, corners); !s.ok()) return s;
    return read_packed(corners.size(), stream);
  }
  if (Status s = read_.wait(); !s.ok()) return s;
  const std::vector<WindowPlane> planes = planes_of(frame);
  if (runtime_->is_here(frame.data)) {
    std::ranges::copy(corners, corners_.as<PartCorner>());
    return read_planes(planes, corners.size(), stream);
  }
  if (Status s = fetch(planes, corners, stream); !s.ok()) return s;
  return read_planes(stacked_, corners.size(), stream);
}

}  // namespace xcorr
