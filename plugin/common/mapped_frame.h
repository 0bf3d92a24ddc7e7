// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A video frame, mapped for a scope. Without GST_MAP_CUDA in the flags, frames in GPU memory are
// downloaded.
#pragma once

#include <gst/video/video.h>

namespace cudaxcorr {

class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags)
      : mapped_(gst_video_frame_map(&frame, &info, buffer, flags)) {}
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame);
  }
  MappedFrame(const MappedFrame&) = delete;
  explicit operator bool() const { return mapped_; }

  GstVideoFrame frame;

 private:
  bool mapped_;
};

}  // namespace cudaxcorr
