// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pad_templates.h"

#include "matching/frame.h"
#include "matching/pipeline_context.h"

namespace cudaxcorr {
namespace {

#define CUDAXCORR_SIZES \
  ", width = (int) [ 1, max ], height = (int) [ 1, max ], framerate = (fraction) [ 0, max ]"
constexpr char caps_text[] = "video/x-raw, format = (string) " CUDAXCORR_FORMATS CUDAXCORR_SIZES;
constexpr char gpu_caps_text[] =
    "video/x-raw(memory:CUDAMemory), format = (string) " CUDAXCORR_GPU_FORMATS CUDAXCORR_SIZES;

}  // namespace

void add_pad_templates(GstElementClass* klass) {
  GstCaps* caps = gst_caps_from_string(has_cuda_memory() ? gpu_caps_text : "EMPTY");
  gst_caps_append(caps, gst_caps_from_string(caps_text));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

}  // namespace cudaxcorr
