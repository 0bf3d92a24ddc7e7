// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/window_reader.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "select/select.hpp"

namespace xcorr {

WindowReader& WindowReader::operator=(WindowReader&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(runtime_, other.runtime_);
  std::swap(luma_of_pixels_, other.luma_of_pixels_);
  std::swap(window_, other.window_);
  std::swap(corners_, other.corners_);
  std::swap(luma_, other.luma_);
  std::swap(packed_, other.packed_);
  std::swap(uploaded_, other.uploaded_);
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

/// Copies the windows of a frame that kernels don't reach into a stack of them that they do.
Result<MatrixView> WindowReader::bring(const MatrixView& frame, std::span<const PartCorner> corners,
                                       Stream stream) {
  const std::ptrdiff_t element = frame.element_bytes(), row = window_.width * element;
  const std::ptrdiff_t pitch = padded_pitch(row);
  const Size stack = stack_of(corners.size());
  const auto bytes = static_cast<std::size_t>(pitch * stack.height);
  if (Status s = uploaded_.provide(device_.backend, bytes); !s.ok()) return s;
  const auto rows_of = [&](std::size_t window, int y) {
    const auto [left, top] = corners[window];
    return static_cast<const std::byte*>(frame.data) + (top + y) * frame.pitch + left * element;
  };
  const auto place_of = [&](const Block& block, std::size_t window, int y) {
    return block.as<std::byte>() + (std::ptrdiff_t(window) * window_.height + y) * pitch;
  };
  if (frame.memory == Memory::host) {
    if (Status s = packed_.provide(device_.backend, bytes, Memory::host); !s.ok()) return s;
    tbb::parallel_for(std::size_t{0}, corners.size(), [&](std::size_t i) {
      for (int y = 0; y < window_.height; ++y)
        std::memcpy(place_of(packed_, i, y), rows_of(i, y), static_cast<std::size_t>(row));
    });
    if (Status s = runtime_->copy(bytes_copy(uploaded_.data(), packed_.data(), bytes), Memory::host,
                                  Memory::device, stream);
        !s.ok())
      return s;
  } else {
    // Copies need rows that follow each other downwards.
    const int at_once = frame.pitch < 0 ? 1 : window_.height;
    for (std::size_t i = 0; i < corners.size(); ++i)
      for (int y = 0; y < window_.height; y += at_once)
        if (Status s =
                runtime_->copy({place_of(uploaded_, i, y), pitch, rows_of(i, y),
                                frame.pitch < 0 ? row : frame.pitch, static_cast<std::size_t>(row),
                                static_cast<std::size_t>(at_once)},
                               Memory::device, Memory::device, stream);
            !s.ok())
          return s;
  }
  return MatrixView{uploaded_.data(), frame.type, stack, pitch, Memory::device, frame.pixels};
}

Result<Rows> WindowReader::read(const MatrixView& frame, std::span<const PartCorner> corners,
                                Stream stream) {
  if (Status s = runtime_->wait_for(read_); !s.ok()) return s;
  const bool reached = frame.memory == Memory::device && runtime_->is_here(frame.data);
  const auto source = reached ? Result<MatrixView>(frame) : bring(frame, corners, stream);
  if (!source.ok()) return source.status();
  auto* const first = corners_.as<PartCorner>();
  for (std::size_t i = 0; i < corners.size(); ++i)
    first[i] = reached ? corners[i] : PartCorner{0, static_cast<int>(i) * window_.height};
  const auto& [data, type, size, pitch, memory, pixels, color] = source.value();
  const std::int64_t luma_pitch = padded_pitch(std::int64_t{window_.width});
  const stage::Luma::Problem problem{window_,
                                     pixels,
                                     pitch,
                                     luma_pitch,
                                     static_cast<int>(corners.size()),
                                     size,
                                     luma_pitch * window_.height};
  auto* const luma = luma_.as<std::uint8_t>();
  if (Status s = luma_of_pixels_->launch(
          problem, device_,
          {{nullptr, stream}, static_cast<const std::uint8_t*>(data), luma, first}, nullptr);
      !s.ok())
    return s;
  if (Status s = runtime_->record(read_, stream); !s.ok()) return s;
  return Rows{luma, luma_pitch};
}

}  // namespace xcorr
