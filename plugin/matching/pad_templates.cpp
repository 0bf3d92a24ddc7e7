// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pad_templates.h"

#include "matching/frame.h"
#include "matching/pipeline_context.h"

namespace cudaxcorr {
namespace {

#define CUDAXCORR_SIZES \
  ", width = (int) [ 1, max ], height = (int) [ 1, max ], framerate = (fraction) [ 0, max ]"
#define CUDAXCORR_IN_SYSTEM_MEMORY "video/x-raw, format = (string) "
#define CUDAXCORR_IN_CUDA_MEMORY "video/x-raw(memory:CUDAMemory), format = (string) "

/// Those of 8 bits, which are preferred, and of more.
struct CapsTexts {
  const char *of_8_bits, *deep;
};
constexpr CapsTexts in_system_memory{
    CUDAXCORR_IN_SYSTEM_MEMORY CUDAXCORR_FORMATS CUDAXCORR_SIZES,
    CUDAXCORR_IN_SYSTEM_MEMORY CUDAXCORR_DEEP_FORMATS CUDAXCORR_SIZES};
constexpr CapsTexts in_cuda_memory{
    CUDAXCORR_IN_CUDA_MEMORY CUDAXCORR_GPU_FORMATS CUDAXCORR_SIZES,
    CUDAXCORR_IN_CUDA_MEMORY CUDAXCORR_DEEP_GPU_FORMATS CUDAXCORR_SIZES};

void append(GstCaps* caps, const CapsTexts& texts) {
  gst_caps_append(caps, gst_caps_from_string(texts.of_8_bits));
  gst_caps_append(caps, gst_caps_from_string(texts.deep));
}

}  // namespace

void add_pad_templates(GstElementClass* klass) {
  GstCaps* caps = gst_caps_new_empty();
  if (has_cuda_memory()) append(caps, in_cuda_memory);
  append(caps, in_system_memory);
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

}  // namespace cudaxcorr
