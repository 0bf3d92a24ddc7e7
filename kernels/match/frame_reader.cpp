// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/frame_reader.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

#include "select/select.hpp"

namespace xcorr {

Result<FrameReader> FrameReader::make(const Device& device, ElementType type, Size most,
                                      bool at_once, int planes) {
  FrameReader reader;
  reader.device_ = device;
  reader.most_ = most;
  reader.planes_ = planes;
  if (type == ElementType::u8) {
    auto variant = select_variant<stage::Luma>({.size = most, .planes = planes}, device);
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

/// \param offset  in the block, bytes
Result<Rows> FrameReader::upload(Rows rows, Size size, std::int64_t element_bytes, Stream stream,
                                 Block& to, std::int64_t offset) {
  const std::int64_t pitch = pitch_of(element_bytes);
  if (Status s = provide(to, pitch); !s.ok()) return s;
  std::uint8_t* const first = to.as<std::uint8_t>() + offset;
  const Copy copy{first,
                  pitch,
                  rows.data,
                  rows.pitch,
                  static_cast<std::size_t>(size.width * element_bytes),
                  static_cast<std::size_t>(size.height)};
  const Runtime& device = runtime(device_.backend);
  const std::int64_t span = (size.height - 1) * rows.pitch + size.width * element_bytes;
  const bool pinned =
      !stages_all_ && rows.pitch > 0 && device.is_pinned(rows.data, static_cast<std::size_t>(span));
  // No copy goes across memory that was pinned in parts, whose ends are pinned, too.
  if (!pinned || !device.copy(copy, Memory::host, Memory::device, stream).ok())
    if (Status s = staging_.upload(device_.backend, copy, stream); !s.ok()) return s;
  return Rows{first, pitch};
}

/// Where kernels read it over the bus: for what they read once.
Result<Rows> FrameReader::stage(Rows rows, Size size, std::int64_t element_bytes) {
  const std::size_t row = static_cast<std::size_t>(size.width * element_bytes);
  const auto staged = staging_.stage(device_.backend, {nullptr, 0, rows.data, rows.pitch, row,
                                                       static_cast<std::size_t>(size.height)});
  if (!staged.ok()) return staged.status();
  return Rows{static_cast<const std::uint8_t*>(staged.value()), static_cast<std::int64_t>(row)};
}

Status FrameReader::note_read(Stream stream) {
  return stages_all_ && planes_ == 1 ? staging_.note_read(stream) : Status();
}

/// From another device's memory; copies need rows that follow each other downwards.
Result<Rows> FrameReader::fetch(Rows rows, Size size, std::int64_t element_bytes, Stream stream,
                                Block& to) {
  const std::int64_t pitch = pitch_of(element_bytes);
  if (Status s = provide(to, pitch); !s.ok()) return s;
  const bool upwards = rows.pitch < 0;
  const std::int64_t last = size.height - 1;
  const Copy copy{to.data(),
                  pitch,
                  upwards ? rows.data + last * rows.pitch : rows.data,
                  std::abs(rows.pitch),
                  static_cast<std::size_t>(size.width * element_bytes),
                  static_cast<std::size_t>(size.height)};
  if (Status s = runtime(device_.backend).copy(copy, Memory::device, Memory::device, stream);
      !s.ok())
    return s;
  const auto* first = to.as<std::uint8_t>();
  return upwards ? Rows{first + last * pitch, -pitch} : Rows{first, pitch};
}

Result<Rows> FrameReader::convert(Rows rows, Size size, const PixelLayout& pixels, Stream stream,
                                  std::int64_t offset) {
  const std::int64_t pitch = pitch_of(1);
  if (Status s = provide(luma_, pitch); !s.ok()) return s;
  std::uint8_t* const luma = luma_.as<std::uint8_t>() + offset;
  const stage::Luma::Problem problem{size, {{pixels, rows.pitch}}, pitch};
  const stage::Luma::Buffers buffers{{nullptr, stream}, rows.data, luma};
  if (Status s = luma_of_pixels_->launch(problem, device_, buffers, nullptr); !s.ok()) return s;
  return Rows{luma, pitch};
}

namespace {

/// Whether both are of the same pixels.
bool share_pixels(const ColorPlane& a, const ColorPlane& b) {
  return a.data == b.data && a.pitch == b.pitch && a.step == b.step && a.shift_x == b.shift_x &&
         a.shift_y == b.shift_y;
}

/// The plane's pixels for a part of the frame.
Rect pixels_of(const ColorPlane& plane, const Rect& part) {
  const auto along = [](int first, int count, int shift) {
    return std::pair(first >> shift, ((first + count - 1) >> shift) - (first >> shift) + 1);
  };
  const auto [x, width] = along(part.x, part.width, plane.shift_x);
  const auto [y, height] = along(part.y, part.height, plane.shift_y);
  return {x, y, width, height};
}

/// Of a whole plane, where a part of it lies like that.
Rows whole(const Rows& rows, const Rect& part, std::int64_t step) {
  return {rows.data - part.y * rows.pitch - part.x * step, rows.pitch};
}

/// From one plane to the next, where kernels may read them like that; else nothing.
std::optional<std::int64_t> distance_of(const ColorPlane (&planes)[color_planes]) {
  const auto at = [&](int i) { return static_cast<const std::uint8_t*>(planes[i].data); };
  const std::int64_t distance = at(1) - at(0);
  for (int i = 0; i < color_planes; ++i) {
    const ColorPlane& p = planes[i];
    if (p.step != 1 || p.shift_x || p.shift_y || p.pitch <= 0 || p.pitch != planes[0].pitch ||
        at(i) - at(0) != i * distance)
      return std::nullopt;
  }
  return distance;
}

}  // namespace

/// The pixels of a plane in the part, where the device reads them. \param in_place  whether they
/// are copied to where they lie in the whole plane
Result<Rows> FrameReader::bring(const MatrixView& frame, const ColorPlane& plane, const Rect& part,
                                Stream stream, Block& to, bool in_place) {
  const auto element = static_cast<std::ptrdiff_t>(size_of(frame.type)) * plane.step;
  const Rect pixels = pixels_of(plane, part);
  const Rows rows{
      static_cast<const std::uint8_t*>(plane.data) + pixels.y * plane.pitch + pixels.x * element,
      plane.pitch};
  if (device_.backend == Backend::cpu) return rows;
  if (frame.memory == Memory::host)
    return upload(rows, pixels.size(), element, stream, to,
                  in_place ? pixels.y * pitch_of(element) + pixels.x * element : 0);
  if (!runtime(device_.backend).is_here(frame.data))
    return fetch(rows, pixels.size(), element, stream, to);
  return rows;
}

/// The same of several planes; what is of the same pixels as the plane before comes once.
Result<PlaneRows> FrameReader::bring_all(const MatrixView& frame,
                                         std::span<const ColorPlane> planes, const Rect& part,
                                         Stream stream, bool in_place) {
  PlaneRows rows;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    if (i > 0 && share_pixels(planes[i], planes[i - 1])) {
      rows[i] = rows[i - 1];
      continue;
    }
    const auto brought =
        bring(frame, planes[i], part, stream, i == 0 ? upload_ : more_uploads_[i - 1], in_place);
    if (!brought.ok()) return brought.status();
    rows[i] = brought.value();
  }
  return rows;
}

/// Makes planes of u8, one byte a pixel.
Status FrameReader::gather(const PlaneRows& rows, const ColorPlane (&planes)[color_planes],
                           const Rect& part, Stream stream, const Rows& to) {
  stage::Luma::Problem problem{
      .size = part.size(), .luma_pitch = to.pitch, .luma_stride = to.plane, .planes = planes_};
  for (int i = 0; i < planes_; ++i) {
    const ColorPlane& plane = planes[i];
    problem.sources[i] = {packed_luma(plane.step, plane.position),
                          rows[i].pitch,
                          rows[i].data - rows[0].data,
                          plane.shift_x,
                          plane.shift_y,
                          plane.shift_x ? part.x % 2 : 0,
                          plane.shift_y ? part.y % 2 : 0};
  }
  return luma_of_pixels_->launch(
      problem, device_, {{nullptr, stream}, rows[0].data, luma_.as<std::uint8_t>()}, nullptr);
}

Result<Rows> FrameReader::read_planes(const MatrixView& frame, const Rect& part, Stream stream) {
  const auto& planes = frame.color;
  const bool here =
      device_.backend == Backend::cpu ||
      (frame.memory == Memory::device && runtime(device_.backend).is_here(frame.data));
  const auto element = static_cast<std::int64_t>(size_of(frame.type));
  const auto distance = distance_of(planes);
  if (here && distance)
    return Rows{static_cast<const std::uint8_t*>(planes[0].data) + part.y * planes[0].pitch +
                    part.x * element,
                planes[0].pitch, *distance};
  const std::int64_t pitch = pitch_of(element), plane = pitch * most_.height;
  if (Status s = luma_.provide(device_.backend, static_cast<std::size_t>(planes_ * plane)); !s.ok())
    return s;
  const Rows to{luma_.as<std::uint8_t>(), pitch, plane};
  const auto brought = bring_all(frame, std::span(planes).first(planes_), part, stream, false);
  if (!brought.ok()) return brought.status();
  const auto& rows = brought.value();
  if (frame.type == ElementType::u8) {
    if (Status s = gather(rows, planes, part, stream, to); !s.ok()) return s;
    return to;
  }
  for (int i = 0; i < planes_; ++i) {
    const Copy copy{luma_.as<std::uint8_t>() + i * plane,
                    pitch,
                    rows[i].data,
                    rows[i].pitch,
                    static_cast<std::size_t>(part.width * element),
                    static_cast<std::size_t>(part.height)};
    if (Status s = runtime(device_.backend).copy(copy, Memory::device, Memory::device, stream);
        !s.ok())
      return s;
  }
  return to;
}

Result<RowsWithColors> FrameReader::read_with_colors(const MatrixView& frame,
                                                     std::span<const ColorPlane> planes,
                                                     const PixelLayout& luma, const Rect& part,
                                                     Stream stream) {
  const auto brought = bring_all(frame, planes, part, stream, true);
  if (!brought.ok()) return brought.status();
  RowsWithColors read{{}, brought.value()};
  read.luma = read.planes[0];
  if (luma != PixelLayout() || read.luma.pitch < 0) {
    const auto converted =
        convert(read.luma, part.size(), luma, stream, part.y * pitch_of(1) + part.x);
    if (!converted.ok()) return converted.status();
    read.luma = whole(converted.value(), part, 1);
  } else {
    read.luma = whole(read.luma, part, 1);
  }
  for (std::size_t i = 0; i < planes.size(); ++i)
    read.planes[i] = whole(read.planes[i], pixels_of(planes[i], part), planes[i].step);
  return read;
}

Result<Rows> FrameReader::read(const MatrixView& frame, const Rect& part, Stream stream,
                               Block* to) {
  if (planes_ > 1) return read_planes(frame, part, stream);
  const std::ptrdiff_t element = frame.element_bytes();
  const bool as_it_is = frame.pixels.bytes <= 1 && frame.pitch > 0;
  Result<Rows> rows =
      Rows{static_cast<const std::uint8_t*>(frame.data) + part.y * frame.pitch + part.x * element,
           frame.pitch};
  if (device_.backend != Backend::cpu) {
    if (frame.memory == Memory::host)
      rows = stages_all_ ? stage(rows.value(), part.size(), element)
                         : upload(rows.value(), part.size(), element, stream,
                                  to && as_it_is ? *to : upload_);
    else if (!runtime(device_.backend).is_here(frame.data))
      rows = fetch(rows.value(), part.size(), element, stream, upload_);
  }
  if (rows.ok() && (frame.pixels.bytes > 1 || rows.value().pitch < 0))
    rows = convert(rows.value(), part.size(), frame.pixels, stream);
  return rows;
}

}  // namespace xcorr
