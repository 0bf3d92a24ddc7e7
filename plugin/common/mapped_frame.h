// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A video frame, mapped for a scope, and where its image is. Buffers come from anywhere: what
// they promise is compared with what they hold before anything is read. Without GST_MAP_CUDA in the
// flags, frames in GPU memory are downloaded.
#pragma once

#include <gst/video/video.h>

namespace cudaxcorr {

/// Why a buffer cannot be read as a frame of these caps, or null if it can. Then `visible` is where
/// its image is, which has the caps' size: where a GstVideoCropMeta says, otherwise in the upper
/// left corner. Looks at metas and sizes only.
const char* fault_of_frame(const GstVideoInfo& info, GstBuffer* buffer, GstVideoRectangle& visible);

class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags);
  ~MappedFrame();
  MappedFrame(const MappedFrame&) = delete;
  explicit operator bool() const { return !fault_; }
  /// Why it is not mapped; null if it is.
  const char* fault() const { return fault_; }

  GstVideoFrame frame;
  GstVideoRectangle visible{};  ///< where it is in the frame

 private:
  const char* fault_;
};

}  // namespace cudaxcorr
