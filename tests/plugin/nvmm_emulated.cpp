// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in `memory:NVMM` on the emulated GPU (see tests/simt), with the tests of nvmm_gpu.cpp and
// those of what goes wrong there. What is read outside of surfaces AddressSanitizer sees. The
// element's objects are linked into this program.
#include "nvmm_gpu.hpp"
#include "simt/faults.hpp"

// What GST_PLUGIN_DEFINE defines.
extern "C" void gst_plugin_cudaxcorr_register();

namespace {

/// A GPU that is not there reads nothing; what lies in its memory nobody reads.
ELEMENT_TEST(of_another_gpu) {
  Finder finder("threshold=0.8 subpixel=false template=" + patch());
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12, width, height);
  const MadeSurface device = surface(kinds[0], GST_VIDEO_FORMAT_NV12);
  device->surface.gpu = 3;
  assert_not_taken(finder, device, "its surface cannot be copied from the GPU");
  const MadeSurface unified = surface(kinds[1], GST_VIDEO_FORMAT_NV12);
  unified->surface.gpu = 3;
  assert_found(finder, unified, false);
}

/// Where there is no EGL the host reads.
ELEMENT_TEST(without_egl) {
  Finder finder("threshold=0.8 subpixel=false template=" + patch());
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12, width, height);
  const MadeSurface made = surface(kinds[2], GST_VIDEO_FORMAT_NV12);
  made->hardware.has_egl = false;
  assert_found(finder, made, false);
}

/// The GPU fails while several frames are in flight: none is lost, and all are given back.
ELEMENT_TEST(the_gpu_fails) {
  for (const Kind& kind : tested_kinds()) {
    Finder finder("threshold=0.8 subpixel=false async-depth=3 template=" + patch());
    set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12, width, height);
    const MadeSurface made = surface(kind, GST_VIDEO_FORMAT_NV12);
    for (int i = 0; i < 5; ++i) {
      if (i == 2) simt::break_call(1, simt::Fault::lasting);
      assert_equals_int(gst_harness_push(finder.harness, buffer_of(made)), GST_FLOW_OK);
    }
    gst_harness_push_event(finder.harness, gst_event_new_eos());
    simt::mend();
    for (int i = 0; i < 5; ++i) {
      GstBuffer* out = gst_harness_try_pull(finder.harness);
      fail_unless(out != nullptr, "frame %d did not come", i);
      assert_at(only(found_in(out)), place.x, place.y);
      gst_buffer_unref(out);
    }
    assert_text(finder.get("active-backend"), "cpu");
    assert_equals_int(made->hardware.open, 0);
  }
}

const Registered before_all([](TCase*) { gst_plugin_cudaxcorr_register(); });

}  // namespace
