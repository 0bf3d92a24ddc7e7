// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/frame_reader.hpp"

#include <cstdlib>

#include "select/select.hpp"

namespace xcorr {

Result<FrameReader> FrameReader::make(const Device& device, ElementType type, Size most,
                                      bool at_once) {
  FrameReader reader;
  reader.device_ = device;
  reader.most_ = most;
  if (type == ElementType::u8) {
    auto variant = select_variant<stage::Luma>({most, {}}, device);
    if (!variant.ok()) return variant.status();
    reader.luma_of_pixels_ = variant.value();
  }
  if (device.backend == Backend::cpu || !at_once) return reader;
  const auto pitch = reader.pitch_of(static_cast<std::int64_t>(size_of(type)));
  if (Status s = reader.provide(reader.upload_, pitch); !s.ok()) return s;
  return reader;
}

std::int64_t FrameReader::pitch_of(std::int64_t element_bytes) const {
  return padded_pitch(most_.width * element_bytes);
}

Status FrameReader::provide(Block& block, std::int64_t pitch) const {
  return block.provide(device_.backend, static_cast<std::size_t>(pitch * most_.height));
}

Result<Rows> FrameReader::upload(Rows rows, Size size, std::int64_t element_bytes, Stream stream,
                                 Block& to) {
  const std::int64_t pitch = pitch_of(element_bytes);
  if (Status s = provide(to, pitch); !s.ok()) return s;
  const Copy copy{to.data(),
                  pitch,
                  rows.data,
                  rows.pitch,
                  static_cast<std::size_t>(size.width * element_bytes),
                  static_cast<std::size_t>(size.height)};
  const Runtime& device = runtime(device_.backend);
  const bool straight = rows.pitch > 0 && device.is_pinned(rows.data);
  if (Status s = straight ? device.copy(copy, Memory::host, Memory::device, stream)
                          : staging_.upload(device_.backend, copy, stream);
      !s.ok())
    return s;
  return Rows{to.as<std::uint8_t>(), pitch};
}

/// From another device's memory; copies need rows that follow each other downwards.
Result<Rows> FrameReader::fetch(Rows rows, Size size, std::int64_t element_bytes, Stream stream) {
  const std::int64_t pitch = pitch_of(element_bytes);
  if (Status s = provide(upload_, pitch); !s.ok()) return s;
  const bool upwards = rows.pitch < 0;
  const std::int64_t last = size.height - 1;
  const Copy copy{upload_.data(),
                  pitch,
                  upwards ? rows.data + last * rows.pitch : rows.data,
                  std::abs(rows.pitch),
                  static_cast<std::size_t>(size.width * element_bytes),
                  static_cast<std::size_t>(size.height)};
  if (Status s = runtime(device_.backend).copy(copy, Memory::device, Memory::device, stream);
      !s.ok())
    return s;
  const auto* first = upload_.as<std::uint8_t>();
  return upwards ? Rows{first + last * pitch, -pitch} : Rows{first, pitch};
}

Result<Rows> FrameReader::convert(Rows rows, Size size, const PixelLayout& pixels, Stream stream) {
  const std::int64_t pitch = pitch_of(1);
  if (Status s = provide(luma_, pitch); !s.ok()) return s;
  const stage::Luma::Problem problem{size, pixels, rows.pitch, pitch};
  const stage::Luma::Buffers buffers{{nullptr, stream}, rows.data, luma_.as<std::uint8_t>()};
  if (Status s = luma_of_pixels_->launch(problem, device_, buffers, nullptr); !s.ok()) return s;
  return Rows{luma_.as<std::uint8_t>(), pitch};
}

Result<Rows> FrameReader::read(const MatrixView& frame, const Rect& part, Stream stream,
                               Block* to) {
  const std::ptrdiff_t element = frame.element_bytes();
  const bool as_it_is = frame.pixels.bytes <= 1 && frame.pitch > 0;
  Result<Rows> rows =
      Rows{static_cast<const std::uint8_t*>(frame.data) + part.y * frame.pitch + part.x * element,
           frame.pitch};
  if (device_.backend != Backend::cpu) {
    if (frame.memory == Memory::host)
      rows = upload(rows.value(), part.size(), element, stream, to && as_it_is ? *to : upload_);
    else if (!runtime(device_.backend).is_here(frame.data))
      rows = fetch(rows.value(), part.size(), element, stream);
  }
  if (rows.ok() && (frame.pixels.bytes > 1 || rows.value().pitch < 0))
    rows = convert(rows.value(), part.size(), frame.pixels, stream);
  return rows;
}

}  // namespace xcorr
