// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pad_templates.h"

#include <string>

#include "matching/formats.h"
#include "matching/pipeline_context.h"
#include "nvmm/color_formats.h"
#include "nvmm/lend.h"
#include "nvmm/surface_library.h"

namespace cudaxcorr {
namespace {

/// Those rows of the table that `holds` names, in memory with that feature.
template <bool (*holds)(const PixelFormat&)>
void append(GstCaps* caps, const char* feature) {
  constexpr auto formats = formats_that<holds>();
  std::string text = std::string("video/x-raw(") + feature + "), format = (string) { ";
  for (const GstVideoFormat format : formats)
    text.append(format == formats.front() ? "" : ", ").append(gst_video_format_to_string(format));
  text +=
      " }, width = (int) [ 1, max ], height = (int) [ 1, max ], framerate = (fraction) [ 0, max ]";
  gst_caps_append(caps, gst_caps_from_string(text.c_str()));
}

constexpr bool is_of_8_bits_in_cuda_memory(const PixelFormat& row) {
  return is_of_8_bits(row) && row.in_cuda_memory;
}
constexpr bool is_deep_in_cuda_memory(const PixelFormat& row) {
  return is_deep(row) && row.in_cuda_memory;
}
constexpr bool is_of_8_bits_in_nvmm(const PixelFormat& row) {
  return is_of_8_bits(row) && nvmm::has(row.format);
}
constexpr bool is_deep_in_nvmm(const PixelFormat& row) {
  return is_deep(row) && nvmm::has(row.format);
}

}  // namespace

void add_pad_templates(GstElementClass* klass) {
  GstCaps* caps = gst_caps_new_empty();
  // Those of 8 bits are preferred to those of more.
  if (has_cuda_memory()) {
    append<is_of_8_bits_in_cuda_memory>(caps, "memory:CUDAMemory");
    append<is_deep_in_cuda_memory>(caps, "memory:CUDAMemory");
  }
  if (nvmm::has_surface_library()) {
    append<is_of_8_bits_in_nvmm>(caps, nvmm::feature);
    append<is_deep_in_nvmm>(caps, nvmm::feature);
  }
  append<is_of_8_bits>(caps, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  append<is_deep>(caps, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

}  // namespace cudaxcorr
