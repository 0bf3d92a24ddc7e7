// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Brings search windows of a frame to a GPU's kernels: their luma, one window after the other, by
// one launch whatever their number. Of frames in host memory the windows are packed together where
// the kernel reads them.
#pragma once

#include <span>

#include "match/frame_reader.hpp"

namespace xcorr {

class WindowReader {
 public:
  WindowReader() = default;
  WindowReader(WindowReader&& other) noexcept { *this = std::move(other); }
  WindowReader& operator=(WindowReader&& other) noexcept;
  ~WindowReader();

  /// For windows of that size, u8, and up to that many.
  static Result<WindowReader> make(const Device& device, Size window, int most);

  /// Enqueues the reading of the windows that begin there, inside the frame. The rows are those of
  /// the first, the others' follow without gaps; they stay valid until the next call. note_read()
  /// comes after it.
  Result<Rows> read(const MatrixView& frame, std::span<const PartCorner> corners, Stream stream);

  /// The same in two steps, for a frame in host memory, which is read by the first. What the second
  /// enqueues is the same for as many windows of such pixels while packed() stays.
  Status pack(const MatrixView& frame, std::span<const PartCorner> corners);
  Result<Rows> read_packed(std::size_t windows, const PixelLayout& pixels, Stream stream);
  const void* packed() const { return packed_.data(); }

  /// What reads has been enqueued on that stream.
  Status note_read(Stream stream) { return runtime_->record(read_, stream); }

 private:
  Result<MatrixView> fetch(const MatrixView& frame, std::span<const PartCorner> corners,
                           Stream stream);
  Result<Rows> read_luma(const MatrixView& source, std::size_t windows, Stream stream);
  void stack_corners(std::size_t windows);
  Size stack_of(std::size_t windows) const;

  Device device_;
  const Runtime* runtime_ = nullptr;
  const Variant<stage::Luma>* luma_of_pixels_ = nullptr;
  Size window_;
  Block corners_, luma_;  ///< the former in memory that host and device read
  Block packed_;          ///< of frames in host memory, as well: a stack of windows
  Block uploaded_;        ///< large ones, then
  Block fetched_;         ///< of frames on another device: the same
  void* read_ = nullptr;  ///< an event: the device has read `corners_` and `packed_`
};

}  // namespace xcorr
