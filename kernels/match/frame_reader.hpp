// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Brings the part of a frame that a match reads to where its kernels read it: in the device's
// memory, as luma or as planes of colour. What is there already is read in place, what another
// device has is copied. Planes are in place where they lie at equal distances, as planar pictures
// do; from packed or subsampled pixels all are gathered, by one launch.
#pragma once

#include <array>
#include <span>

#include "device/runtime.hpp"
#include "match/staging.hpp"
#include "stages/image/luma.hpp"

namespace xcorr {

/// Alignment of rows on the device, so that kernels may read them as words.
inline constexpr std::int64_t pitch_alignment = 16;

/// Bytes from row to row of rows that have so many.
constexpr std::int64_t padded_pitch(std::int64_t row_bytes) {
  return (row_bytes + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
}

struct Rows {
  const std::uint8_t* data = nullptr;
  std::int64_t pitch = 0;  ///< bytes
  std::int64_t plane = 0;  ///< bytes from one plane to the next, where there are several
};

/// Those of a frame's planes, as they lie.
using PlaneRows = std::array<Rows, color_planes>;

/// A frame, of which a part is there.
struct RowsWithColors {
  Rows luma;
  PlaneRows planes;
};

class FrameReader {
 public:
  FrameReader() = default;
  /// For parts up to that size. Allocates what frames in host memory need, if their elements are no
  /// larger than the type; where `at_once` is false, when they come.
  /// \param planes  1: luma; color_planes: colour, which frames then have
  static Result<FrameReader> make(const Device& device, ElementType type, Size most,
                                  bool at_once = true, int planes = 1);

  /// From now on host memory has been read when read() returns; else the device may still be
  /// reading pinned memory then. note_read() follows once what reads the rows has been enqueued.
  void stage_all() { stages_all_ = true; }
  Status note_read(Stream stream);

  /// Enqueues the reading. The rows are those of the part, and stay valid until the next call. If
  /// they can be copied to a device as they are, they go to `to`, if given.
  Result<Rows> read(const MatrixView& frame, const Rect& part, Stream stream, Block* to = nullptr);

  /// The same of a frame of u8 for what reads its colours in place: nothing is gathered. The rows
  /// are those of the whole frame, of which the part is there; what comes from the host is at the
  /// same address each time. \param planes  of the frame, one or color_planes \param luma  of the
  /// first plane's pixels \param part  from a column on that is a multiple of pitch_alignment
  Result<RowsWithColors> read_with_colors(const MatrixView& frame,
                                          std::span<const ColorPlane> planes,
                                          const PixelLayout& luma, const Rect& part, Stream stream);

 private:
  std::int64_t pitch_of(std::int64_t element_bytes) const;
  Status provide(Block& block, std::int64_t pitch) const;
  Result<Rows> upload(Rows rows, Size size, std::int64_t element_bytes, Stream stream, Block& to,
                      std::int64_t offset = 0);
  Result<Rows> stage(Rows rows, Size size, std::int64_t element_bytes);
  Result<Rows> fetch(Rows rows, Size size, std::int64_t element_bytes, Stream stream, Block& to);
  Result<Rows> convert(Rows rows, Size size, const PixelLayout& pixels, Stream stream,
                       std::int64_t offset = 0);
  Result<Rows> read_planes(const MatrixView& frame, const Rect& part, Stream stream);
  Result<Rows> bring(const MatrixView& frame, const ColorPlane& plane, const Rect& part,
                     Stream stream, Block& to, bool in_place);
  Result<PlaneRows> bring_all(const MatrixView& frame, std::span<const ColorPlane> planes,
                              const Rect& part, Stream stream, bool in_place);
  Status gather(const PlaneRows& rows, const ColorPlane (&planes)[color_planes], const Rect& part,
                Stream stream, const Rows& to);

  Device device_;
  const Variant<stage::Luma>* luma_of_pixels_ = nullptr;
  Size most_;
  int planes_ = 1;
  bool stages_all_ = false;
  Block upload_, luma_;
  Block more_uploads_[color_planes - 1];  ///< of planes that do not share pixels
  Staging staging_;
};

}  // namespace xcorr
