// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Brings search windows of a frame to a GPU's kernels: their luma, one window after the other, by
// one launch whatever their number. Of frames in host memory only the windows are uploaded, at
// once.
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
  /// the first, the others' follow without gaps; they stay valid until the next call.
  Result<Rows> read(const MatrixView& frame, std::span<const PartCorner> corners, Stream stream);

 private:
  Result<MatrixView> bring(const MatrixView& frame, std::span<const PartCorner> corners,
                           Stream stream);
  Size stack_of(std::size_t windows) const;

  Device device_;
  const Runtime* runtime_ = nullptr;
  const Variant<stage::Luma>* luma_of_pixels_ = nullptr;
  Size window_;
  Block corners_, luma_;     ///< the former in memory that host and device read
  Block packed_, uploaded_;  ///< of frames elsewhere: a stack of windows, in pinned memory first
  void* read_ = nullptr;     ///< an event: the device has read `corners_` and `packed_`
};

}  // namespace xcorr
