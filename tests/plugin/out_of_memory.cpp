// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory for what is as large as a frame cannot be had: there is a warning, and the stream goes on.
// The limit grows in steps, so that each of the allocations on the way fails once.
#include "../address_space.hpp"
#include "live_templates.hpp"

namespace {

constexpr std::size_t megabyte = 1 << 20, most = 200 * megabyte;
constexpr int width = 1500, height = 1200;

/// Calls it with more and more memory left; it says whether all went well.
template <class Attempt>
void with_growing_memory(Attempt attempt) {
  bool failed = false;
  for (std::size_t left = 2 * megabyte; left < most; left += megabyte / 2) {
    if (attempt(left)) {
      fail_unless(failed, "no attempt failed");
      return;
    }
    failed = true;
  }
  fail("nothing succeeded");
}

/// Takes all warnings, which are all of that kind.
bool warned(Finder& finder, GQuark domain, int code) {
  bool any = false;
  while (GstMessage* message = finder.message(GST_MESSAGE_WARNING)) {
    text_of(message, domain, code);
    any = true;
  }
  return any;
}

Gray scene() { return texture(width, height); }
std::string patch() { return save(crop(scene(), 40, 22, 16, 12), "patch.png"); }

void assert_found(GstBuffer* out) {
  assert_at(found_in(out).peaks.at(0), 40, 22);
  gst_buffer_unref(out);
}

/// Of what prepares it, and of the image alone.
ELEMENT_TEST(response) {
  for (const bool prepared : {false, true}) {
    Finder finder("subpixel=false template=" + patch());
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
    GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, scene());
    assert_found(finder.pass(gst_buffer_ref(frame)));
    GstPad* pad = gst_element_request_pad_simple(finder.element, "response");
    guint images = 0;
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer count) {
          ++*static_cast<guint*>(count);
          return GST_PAD_PROBE_DROP;
        },
        &images, nullptr);
    if (prepared) assert_found(finder.pass(gst_buffer_ref(frame)));
    const guint before = images;
    with_growing_memory([&](std::size_t left) {
      {
        const AddressSpace space(left);
        assert_equals_int(gst_harness_push(finder.harness, gst_buffer_ref(frame)), GST_FLOW_OK);
      }
      assert_found(gst_harness_pull(finder.harness));
      return images > before;
    });
    fail_unless(warned(finder, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED));
    gst_element_release_request_pad(finder.element, pad);
    gst_object_unref(pad);
    gst_buffer_unref(frame);
  }
}

ELEMENT_TEST(captured_patch) {
  Finder finder("enable-capture=true");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene())));
  with_growing_memory([&](std::size_t left) {
    guint id;
    {
      const AddressSpace space(left - megabyte);
      id = capture(finder, 0, 0, width, height);
    }
    const bool refused = warned(finder, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    assert_equals_int(refused, id == 0);
    return id > 0;
  });
}

ELEMENT_TEST(sample) {
  Finder finder("");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  const Sample large = sample_of(scene(), GST_VIDEO_FORMAT_BGRx);
  with_growing_memory([&](std::size_t left) {
    guint id;
    {
      const AddressSpace space(left);
      id = add(finder, large);
    }
    const bool refused = warned(finder, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    assert_equals_int(refused, id == 0);
    return id > 0;
  });
}

/// Those that were there before stay, unless there is no memory to return to them either: then
/// there is an ERROR.
ELEMENT_TEST(templates_of_the_next_frame) {
  Finder finder("subpixel=false template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, scene());
  assert_found(finder.pass(gst_buffer_ref(frame)));
  const Sample large = sample_of(crop(scene(), 0, 0, width / 2, height / 2), GST_VIDEO_FORMAT_BGRx);
  with_growing_memory([&](std::size_t left) {
    const guint id = add(finder, large);
    fail_unless(id > 0);
    GstFlowReturn flow;
    {
      const AddressSpace space(left);
      flow = gst_harness_push(finder.harness, gst_buffer_ref(frame));
    }
    if (flow == GST_FLOW_OK)
      assert_found(gst_harness_pull(finder.harness));
    else
      text_of(finder.message(GST_MESSAGE_ERROR), GST_RESOURCE_ERROR,
              GST_RESOURCE_ERROR_NO_SPACE_LEFT);
    const bool refused = warned(finder, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
    return flow == GST_FLOW_OK && !refused;
  });
  gst_buffer_unref(frame);
}

/// Nothing is made for frames of which there is only the size.
ELEMENT_TEST(caps_without_frames) {
  Finder finder("template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, 32767, 32767);
  GstPad* pad = gst_element_request_pad_simple(finder.element, "response");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 100, nullptr);
  const AddressSpace space(50 * megabyte);
  fail_if(finder.find(frame).analysed);
  fail_unless(warned(finder, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  gst_element_release_request_pad(finder.element, pad);
  gst_object_unref(pad);
}

}  // namespace
