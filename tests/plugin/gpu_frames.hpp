// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of frames in CUDA memory: chains of elements that begin with an upload, and
// checks of where frames were searched.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "moving_patch.hpp"

inline constexpr char feature[] = "memory:CUDAMemory";

inline bool is_on_gpu(GstCaps* caps) {
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), feature);
}

inline GstPad* pad_of(GstElement* element, const char* name) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  gst_object_unref(pad);  // the element has it
  return pad;
}

inline bool has_gpu_caps(GstElement* element) {
  GstCaps* caps = gst_pad_get_current_caps(pad_of(element, "src"));
  const bool on_gpu = caps && is_on_gpu(caps);
  gst_clear_caps(&caps);
  return on_gpu;
}

/// By default cudaupload passes on system memory if the next element takes that too.
inline const std::string upload =
    "cudaupload ! capsfilter caps=\"video/x-raw(memory:CUDAMemory)\" ! ";

/// A chain of elements with a cudaxcorr named `finder`.
class Row {
 public:
  explicit Row(const std::string& launch) : harness_(harness_of(launch)) {
    finder_ = gst_bin_get_by_name(GST_BIN(harness_->element), "finder");
  }
  ~Row() {
    if (finder_) gst_object_unref(finder_);
    gst_harness_teardown(harness_);
  }
  Row(const Row&) = delete;

  void set_format(GstVideoFormat format, int width = frame_width, int height = frame_height) {
    format_ = format;
    gst_harness_set_src_caps(
        harness_, gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                                      gst_video_format_to_string(format), "width", G_TYPE_INT,
                                      width, "height", G_TYPE_INT, height, "framerate",
                                      GST_TYPE_FRACTION, 25, 1, nullptr));
  }
  void push(GstBuffer* frame) { assert_equals_int(gst_harness_push(harness_, frame), GST_FLOW_OK); }
  void push(const Gray& image) { push(make_frame(format_, image)); }
  GstBuffer* pull() {
    GstBuffer* buffer = gst_harness_try_pull(harness_);
    fail_unless(buffer != nullptr, "no frame came out");
    return buffer;
  }
  Found find(const auto& image) {
    push(image);
    GstBuffer* buffer = pull();
    const Found found = found_in(buffer);
    gst_buffer_unref(buffer);
    return found;
  }

  GstHarness* harness() { return harness_; }
  GstElement* finder() { return finder_; }

 private:
  GstHarness* harness_;
  GstElement* finder_;
  GstVideoFormat format_ = GST_VIDEO_FORMAT_UNKNOWN;
};

/// Checks that all frames so far were searched in place.
inline void assert_searched_on_gpu(GstElement* finder, guint64 frames) {
  fail_unless(has_gpu_caps(finder));
  assert_equals_uint64(stat_of(finder, "analysed"), frames);
  assert_equals_uint64(stat_of(finder, "in-gpu-memory"), frames);
}

inline std::string finder(const std::string& more) {
  return "cudaxcorr name=finder backend=cuda subpixel=false template=" + World().file + " " + more;
}

/// Ends the program as skipped if there is no CUDA memory, for lack of a driver.
inline void skip_without_uploads() {
  if (gst_element_factory_find("cudaupload")) return;
  std::printf("SKIPPED: there is no cudaupload\n");
  std::fflush(stdout);
  std::exit(77);  // Meson's code
}
