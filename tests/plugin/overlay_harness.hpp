// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorroverlay in a harness: gray frames with synthetic results go in, and the pixels that come out
// are read back.
#pragma once

#include <string>
#include <vector>

#include "synthetic_results.hpp"

inline constexpr int frame_width = 160, frame_height = 120;
/// The colours of the first track and the second.
inline constexpr guint32 orange = 0xe69f00, sky_blue = 0x56b4e9;
inline constexpr MadePeak in_the_middle = {60, 50, 30, 20};
/// With lines of two pixels in frames of that height.
inline const std::string box_only =
    "show-label=false show-id=false show-score=false line-width=12 ";

class Overlay {
 public:
  explicit Overlay(const std::string& properties, GstVideoFormat format = GST_VIDEO_FORMAT_BGRx)
      : format_(format) {
    harness = gst_harness_new_parse(("xcorroverlay name=overlay " + properties).c_str());
    fail_unless(harness != nullptr);
    element = gst_bin_get_by_name(GST_BIN(harness->element), "overlay");
    set_size(frame_width, frame_height);
  }
  ~Overlay() {
    take_out(nullptr);
    gst_object_unref(element);
    gst_harness_teardown(harness);
  }
  Overlay(const Overlay&) = delete;

  void set_size(int width, int height) {
    gst_video_info_set_format(&info_, format_, static_cast<guint>(width),
                              static_cast<guint>(height));
    gst_harness_set_src_caps(harness, gst_video_info_to_caps(&info_));
  }
  Gray ground() const { return Gray(info_.width, info_.height, 100); }
  GstBuffer* frame() const { return make_frame(format_, ground()); }
  /// Sends a frame with that result and keeps what comes out.
  void show(const std::vector<MadePeak>& peaks, bool analysed = true) {
    GstBuffer* buffer = frame();
    attach_result(buffer, frame_width, frame_height, peaks, analysed);
    pass(buffer);
  }
  GstBuffer* pass(GstBuffer* buffer) {
    take_out(gst_harness_push_and_pull(harness, buffer));
    fail_unless(out_ != nullptr, "no frame came out");
    return out_;
  }

  /// A component of a pixel: red, green, blue or Y, U, V.
  int value(int component, int x, int y) const {
    GstVideoFrame mapped;
    fail_unless(gst_video_frame_map(&mapped, &info_, out_, GST_MAP_READ));
    const auto* row = GST_VIDEO_FRAME_COMP_DATA(&mapped, component) +
                      y * GST_VIDEO_FRAME_COMP_STRIDE(&mapped, component);
    const int result = row[x * GST_VIDEO_FRAME_COMP_PSTRIDE(&mapped, component)];
    gst_video_frame_unmap(&mapped);
    return result;
  }
  guint32 color(int x, int y) const {
    return static_cast<guint32>(value(0, x, y) << 16 | value(1, x, y) << 8 | value(2, x, y));
  }
  bool is_ground(int x, int y) const { return color(x, y) == 0x646464; }
  /// The number of pixels of that colour in a rectangle of the frame.
  int count(guint32 wanted, int x0, int y0, int width, int height) const {
    int found = 0;
    for (int y = y0; y < y0 + height; ++y)
      for (int x = x0; x < x0 + width; ++x) found += color(x, y) == wanted;
    return found;
  }
  int count(guint32 wanted) const { return count(wanted, 0, 0, info_.width, info_.height); }
  bool all_ground() const { return count(0x646464) == info_.width * info_.height; }

  GstHarness* harness;
  GstElement* element;

 private:
  void take_out(GstBuffer* buffer) {
    if (out_) gst_buffer_unref(out_);
    out_ = buffer;
  }

  GstVideoFormat format_;
  GstVideoInfo info_;
  GstBuffer* out_ = nullptr;
};
