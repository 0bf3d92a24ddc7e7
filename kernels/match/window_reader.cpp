// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/window_reader.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "select/select.hpp"

namespace xcorr {

namespace {

/// Of so many bytes a kernel reads a stack over the bus; larger ones are uploaded first.
constexpr std::size_t most_over_bus = std::size_t{64} << 10;

}  // namespace

WindowReader& WindowReader::operator=(WindowReader&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(runtime_, other.runtime_);
  std::swap(luma_of_pixels_, other.luma_of_pixels_);
  std::swap(window_, other.window_);
  std::swap(corners_, other.corners_);
  std::swap(luma_, other.luma_);
  std::swap(packed_, other.packed_);
  std::swap(uploaded_, other.uploaded_);
  std::swap(fetched_, other.fetched_);
  std::swap(read_, other.read_);
  return *this;
}

WindowReader::~WindowReader() {
  if (read_) runtime_->destroy_event(read_);
}

Result<WindowReader> WindowReader::make(const Device& device, Size window, int most) {
  WindowReader reader;
  reader.device_ = device;
  reader.runtime_ = &runtime(device.backend);
  reader.window_ = window;
  const auto variant = select_variant<stage::Luma>(
      {.size = window, .layout = {}, .parts = most, .image = window}, device);
  if (!variant.ok()) return variant.status();
  reader.luma_of_pixels_ = variant.value();
  const auto event = reader.runtime_->create_event();
  if (!event.ok()) return event.status();
  reader.read_ = event.value();
  if (Status s = reader.corners_.provide(device.backend, most * sizeof(PartCorner), Memory::host);
      !s.ok())
    return s;
  if (Status s = reader.luma_.provide(
          device.backend, static_cast<std::size_t>(most * window.height *
                                                   padded_pitch(std::int64_t{window.width})));
      !s.ok())
    return s;
  return reader;
}

/// One window above the other.
Size WindowReader::stack_of(std::size_t windows) const {
  return {window_.width, window_.height * static_cast<int>(windows)};
}

Status WindowReader::pack(const MatrixView& frame, std::span<const PartCorner> corners) {
  if (Status s = runtime_->wait_for(read_); !s.ok()) return s;
  const std::ptrdiff_t element = frame.element_bytes(), row = window_.width * element;
  const std::ptrdiff_t pitch = padded_pitch(row);
  const auto bytes = static_cast<std::size_t>(pitch * stack_of(corners.size()).height);
  if (Status s = packed_.provide(device_.backend, bytes, Memory::host); !s.ok()) return s;
  if (bytes > most_over_bus)
    if (Status s = uploaded_.provide(device_.backend, bytes); !s.ok()) return s;
  tbb::parallel_for(std::size_t{0}, corners.size(), [&](std::size_t i) {
    const auto [left, top] = corners[i];
    const auto* from =
        static_cast<const std::byte*>(frame.data) + top * frame.pitch + left * element;
    auto* to = packed_.as<std::byte>() + std::ptrdiff_t(i) * window_.height * pitch;
    for (int y = 0; y < window_.height; ++y, from += frame.pitch, to += pitch)
      std::memcpy(to, from, static_cast<std::size_t>(row));
  });
  stack_corners(corners.size());
  return {};
}

Result<Rows> WindowReader::read_packed(std::size_t windows, const PixelLayout& pixels,
                                       Stream stream) {
  const std::ptrdiff_t pitch = padded_pitch(window_.width * std::max(pixels.bytes, 1));
  MatrixView stack{packed_.data(), ElementType::u8, stack_of(windows), pitch, Memory::host, pixels};
  const auto bytes = static_cast<std::size_t>(pitch * stack.size.height);
  if (bytes > most_over_bus) {
    const Copy copy = bytes_copy(uploaded_.data(), packed_.data(), bytes);
    if (Status s = runtime_->copy(copy, Memory::host, Memory::device, stream); !s.ok()) return s;
    stack.data = uploaded_.data();
  }
  return read_luma(stack, windows, stream);
}

/// The corners of windows that lie one below the other.
void WindowReader::stack_corners(std::size_t windows) {
  for (std::size_t i = 0; i < windows; ++i)
    corners_.as<PartCorner>()[i] = {0, static_cast<int>(i) * window_.height};
}

/// Copies the windows of a frame on another device into a stack of them on this one.
Result<MatrixView> WindowReader::fetch(const MatrixView& frame, std::span<const PartCorner> corners,
                                       Stream stream) {
  const std::ptrdiff_t element = frame.element_bytes(), row = window_.width * element;
  const std::ptrdiff_t pitch = padded_pitch(row);
  const Size stack = stack_of(corners.size());
  if (Status s = fetched_.provide(device_.backend, static_cast<std::size_t>(pitch * stack.height));
      !s.ok())
    return s;
  // Copies need rows that follow each other downwards.
  const int at_once = frame.pitch < 0 ? 1 : window_.height;
  for (std::size_t i = 0; i < corners.size(); ++i)
    for (int y = 0; y < window_.height; y += at_once) {
      const auto [left, top] = corners[i];
      const Copy copy{
          fetched_.as<std::byte>() + (std::ptrdiff_t(i) * window_.height + y) * pitch,
          pitch,
          static_cast<const std::byte*>(frame.data) + (top + y) * frame.pitch + left * element,
          frame.pitch < 0 ? row : frame.pitch,
          static_cast<std::size_t>(row),
          static_cast<std::size_t>(at_once)};
      if (Status s = runtime_->copy(copy, Memory::device, Memory::device, stream); !s.ok())
        return s;
    }
  return MatrixView{fetched_.data(), frame.type, stack, pitch, Memory::device, frame.pixels};
}

Result<Rows> WindowReader::read_luma(const MatrixView& source, std::size_t windows, Stream stream) {
  const std::int64_t luma_pitch = padded_pitch(std::int64_t{window_.width});
  const stage::Luma::Problem problem{window_,
                                     source.pixels,
                                     source.pitch,
                                     luma_pitch,
                                     static_cast<int>(windows),
                                     source.size,
                                     luma_pitch * window_.height};
  auto* const luma = luma_.as<std::uint8_t>();
  if (Status s = luma_of_pixels_->launch(problem, device_,
                                         {{nullptr, stream},
                                          static_cast<const std::uint8_t*>(source.data),
                                          luma,
                                          corners_.as<PartCorner>()},
                                         nullptr);
      !s.ok())
    return s;
  return Rows{luma, luma_pitch};
}

Result<Rows> WindowReader::read(const MatrixView& frame, std::span<const PartCorner> corners,
                                Stream stream) {
  if (frame.memory == Memory::host) {
    if (Status s = pack(frame, corners); !s.ok()) return s;
    return read_packed(corners.size(), frame.pixels, stream);
  }
  if (Status s = runtime_->wait_for(read_); !s.ok()) return s;
  if (runtime_->is_here(frame.data)) {
    std::ranges::copy(corners, corners_.as<PartCorner>());
    return read_luma(frame, corners.size(), stream);
  }
  const auto source = fetch(frame, corners, stream);
  if (!source.ok()) return source.status();
  stack_corners(corners.size());
  return read_luma(source.value(), corners.size(), stream);
}

}  // namespace xcorr
