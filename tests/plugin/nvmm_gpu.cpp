// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in `memory:NVMM` that a GPU reads where they lie: in CUDA's memory on any GPU, and on the
// emulated one (nvmm_emulated.cpp) also Jetson's, by way of EGL images, as pointers and as arrays.
#include "nvmm_gpu.hpp"

namespace {

ELEMENT_TESTS(frames_are_read_where_they_lie, 0, std::size(nvmm_formats)) {
  for (const Kind& kind : tested_kinds()) {
    Finder finder("threshold=0.8 subpixel=false template=" + patch());
    set_nvmm_format(finder, nvmm_formats[__i__], width, height);
    assert_found(finder, surface(kind, nvmm_formats[__i__]), true);
    assert_text(finder.get("active-backend"), "cuda");
  }
}

/// Where the first frame stays the reference, it is kept in the host's memory.
ELEMENT_TEST(fields_too) {
  for (const Kind& kind : tested_kinds())
    for (const char* reference : {"previous", "first"}) {
      const auto made = [&](const Gray& image) {
        return surface(kind, GST_VIDEO_FORMAT_NV12, image);
      };
      assert_equals_uint64(measure_motion(reference, GST_VIDEO_FORMAT_NV12, made), 1);
    }
}

/// The CPU's copy of what only a GPU reads, or of what it maps.
ELEMENT_TESTS(the_cpu_gets_a_copy, 0, std::size(nvmm_formats)) {
  const GstVideoFormat format = nvmm_formats[__i__];
  for (const Kind& kind : tested_kinds()) {
    Finder finder("backend=cpu threshold=0.8 subpixel=false template=" + patch());
    set_nvmm_format(finder, format, width, height);
    assert_found(finder, surface(kind, format), false);
  }
}

}  // namespace
