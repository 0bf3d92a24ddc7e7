// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A video frame, mapped for a scope, and where its image is. Buffers come from anywhere: what
// they promise is compared with what they hold before anything is read. Without GST_MAP_CUDA in the
// flags, frames in GPU memory are downloaded.
#pragma once

#include <memory>

#include <gst/video/video.h>

namespace cudaxcorr {

/// Why a buffer cannot be read as a frame of these caps, or null if it can. Then `visible` is where
/// its image is, which has the caps' size: where a GstVideoCropMeta says, otherwise in the upper
/// left corner. Looks at metas and sizes only.
const char* fault_of_frame(const GstVideoInfo& info, GstBuffer* buffer, GstVideoRectangle& visible);

/// What is read of a plane.
struct PlaneRows {
  gint64 count, bytes;  ///< `bytes` of each
};
PlaneRows rows_of(const GstVideoFormatInfo& format, guint plane, int width, int height);

/// The planes of a frame whose buffer only refers to them. They can be read while this exists.
struct LentPlanes {
  struct Plane {
    void* data;
    int stride;
    gsize size;  ///< of what is there from `data` on
  };

  virtual ~LentPlanes() = default;

  const char* fault = nullptr;  ///< why there are none
  int width = 0, height = 0;    ///< of the frame
  Plane planes[GST_VIDEO_MAX_PLANES]{};
};

/// Why planes cannot be those of such a frame, or null if they can.
const char* fault_of_planes(const LentPlanes& lent, const GstVideoFormatInfo& format);

class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags);
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, std::unique_ptr<LentPlanes> lent);
  ~MappedFrame();
  MappedFrame(const MappedFrame&) = delete;
  explicit operator bool() const { return !fault_; }
  /// Why it is not mapped; null if it is.
  const char* fault() const { return fault_; }

  GstVideoFrame frame;
  GstVideoRectangle visible{};  ///< where it is in the frame

 private:
  std::unique_ptr<LentPlanes> lent_;  ///< null if the planes are the buffer's own
  const char* fault_;
};

}  // namespace cudaxcorr
