// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cuts a patch out of a frame at a pose, upright and of a template's size: the stage warp_template
// with the frame in the template's place and the pose undone.
#pragma once

#include <xcorr/poses.hpp>

#include "match/frame_reader.hpp"
#include "stages/poses/warp_template.hpp"

namespace xcorr {

class PatchCutter {
 public:
  /// Of patches of that type and size, of luma or of planes of colour, see FrameReader.
  static Result<PatchCutter> make(const Device& device, ElementType type, Size size, int planes);

  /// See LiveTemplate::cut(). Of several planes the view's colour, and the first one is its data.
  Result<MatrixView> cut(const MatrixView& frame, const Pose& pose, Stream stream);

 private:
  /// Room for parts of frames of that extent.
  Status provide(Size part);

  std::int64_t element() const { return static_cast<std::int64_t>(size_of(type_)); }

  Device device_;
  ElementType type_ = ElementType::u8;
  Size size_, room_;
  int planes_ = 1;
  FrameReader reader_;
  Block part_, map_, patch_, mask_, sums_;
};

}  // namespace xcorr
