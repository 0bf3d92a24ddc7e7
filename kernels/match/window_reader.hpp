// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Brings search windows of a frame to a GPU's kernels: their luma or their planes of colour, one
// window after the other, by one launch a plane whatever their number. Of frames in host memory the
// windows are packed together where the kernel reads them.
#pragma once

#include <span>
#include <vector>

#include "match/frame_reader.hpp"

namespace xcorr {

/// A plane of a picture, and where the windows begin in it. Planes may share pixels.
struct WindowPlane {
  const std::uint8_t* pixels;
  std::ptrdiff_t pitch;  ///< bytes from row to row
  PixelLayout layout;
  int shift_x, shift_y;  ///< see ColorPlane
  Size picture;
  const PartCorner* corners;

  bool operator==(const WindowPlane&) const = default;
  bool shares_pixels_of(const WindowPlane& other) const {
    return pixels == other.pixels && pitch == other.pitch && shift_x == other.shift_x &&
           shift_y == other.shift_y && layout.bytes == other.layout.bytes;
  }
};

class WindowReader {
 public:
  /// For windows of that size, u8, and up to that many; of several planes those of colour are read.
  static Result<WindowReader> make(const Device& device, Size window, int most, int planes = 1);

  /// Enqueues the reading of the windows that begin there, inside the frame. The rows are those of
  /// the first, the others' follow without gaps; they stay valid until the next call. From one
  /// plane to the next there is room for as many as there can be. note_read() comes after it.
  Result<Rows> read(const MatrixView& frame, std::span<const PartCorner> corners, Stream stream);

  /// The same in two steps, for a frame in host memory, which is read by the first. What the second
  /// enqueues is the same for as many windows while packed() stays.
  Status pack(const MatrixView& frame, std::span<const PartCorner> corners);
  Result<Rows> read_packed(std::size_t windows, Stream stream);
  const std::vector<WindowPlane>& packed() const { return stacked_; }

  /// What reads has been enqueued on that stream.
  Status note_read(Stream stream) { return read_.record(stream); }

 private:
  std::vector<WindowPlane> planes_of(const MatrixView& frame) const;
  Status provide_stacks(const std::vector<WindowPlane>& from, std::span<const PartCorner> corners,
                        Block& block, Memory memory);
  template <class CopyRows>
  Status copy_windows(const std::vector<WindowPlane>& from, const PartCorner& at,
                      std::size_t window, CopyRows copy_rows) const;
  Status fetch(const std::vector<WindowPlane>& from, std::span<const PartCorner> corners,
               Stream stream);
  Result<Rows> read_planes(const std::vector<WindowPlane>& planes, std::size_t windows,
                           Stream stream);

  Device device_;
  const Runtime* runtime_ = nullptr;
  const Variant<stage::Luma>* luma_of_pixels_ = nullptr;
  Size window_;
  int most_ = 0, planes_ = 1;
  Block corners_, luma_;  ///< of each plane; the former in memory that host and device read
  Block packed_;          ///< of frames in host memory, as well: stacks of windows
  Block uploaded_;        ///< large ones, then
  Block fetched_;         ///< of frames on another device: the same
  std::vector<WindowPlane> stacked_;  ///< in one of them
  std::size_t stacked_bytes_ = 0;
  Event read_;  ///< of `corners_` and `packed_`
};

}  // namespace xcorr
