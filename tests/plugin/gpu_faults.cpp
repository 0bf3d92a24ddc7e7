// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A GPU that fails: the element over the emulated GPU (see tests/simt), of which the n-th call
// fails, for every n there is. The element's objects are linked into this program.
#include <cstring>
#include <functional>

#include "device/runtime.hpp"
#include "moving_patch.hpp"
#include "simt/faults.hpp"

// What GST_PLUGIN_DEFINE defines.
extern "C" void gst_plugin_cudaxcorr_register();

namespace {

constexpr int width = 48, height = 40, patch = 10, frames = 5;

Place place_of(int n) { return {6 + 2 * n, 20 - n}; }

const Gray& background() {
  static const Gray image = texture(width, height, 1);
  return image;
}

GstSample* sample_of_patch() {
  static const Gray image = texture(patch, patch, 50);
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "GRAY8", "width",
                                      G_TYPE_INT, patch, "height", G_TYPE_INT, patch, nullptr);
  GstSample* sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

/// With the patch, or the round part of it, which is an exact copy under a disc only.
GstBuffer* frame(int n, bool round = false) {
  Gray image = background();
  const Gray whole = texture(patch, patch, 50);
  for (int y = 0; y < patch; ++y)
    for (int x = 0; x < patch; ++x) {
      const int u = 2 * x + 1 - patch, v = 2 * y + 1 - patch;
      if (!round || u * u + v * v <= patch * patch)
        image.at(place_of(n).x + x, place_of(n).y + y) = whole.at(x, y);
    }
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
  GST_BUFFER_PTS(buffer) = n * GST_SECOND;
  return buffer;
}

void look_for_patch(Finder& finder) {
  guint id = 0;
  GstSample* sample = sample_of_patch();
  g_signal_emit_by_name(finder.element, "add-template", sample, "patch", &id);
  gst_sample_unref(sample);
  assert_equals_int(id, 1);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
}

/// An element in a harness that looks for the patch.
class Stream {
 public:
  explicit Stream(const std::string& settings)
      : finder_("threshold=0.8 subpixel=false " + settings) {
    look_for_patch(finder_);
  }

  GstFlowReturn push(int n, bool round = false) {
    return gst_harness_push(finder_.harness, frame(n, round));
  }
  void end() { fail_unless(gst_harness_push_event(finder_.harness, gst_event_new_eos())); }

  /// Takes the next frame that left, which must be this one, with the right answer.
  Peak pull(int n) {
    GstBuffer* buffer = gst_harness_try_pull(finder_.harness);
    fail_unless(buffer != nullptr, "frame %d did not come", n);
    assert_equals_uint64(GST_BUFFER_PTS(buffer), n * GST_SECOND);
    const Found found = found_in(buffer);
    gst_buffer_unref(buffer);
    fail_unless(found.analysed);
    assert_at(only(found), place_of(n).x, place_of(n).y);
    fail_unless(only(found).score > 0.999, "score %f", only(found).score);
    return only(found);
  }
  bool has_more() { return gst_harness_buffers_in_queue(finder_.harness) > 0; }

  std::string active_backend() { return finder_.get("active-backend"); }

  struct Posted {
    int warnings = 0, errors = 0;
  };
  Posted posted() {
    Posted posted;
    const auto types = static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    while (GstMessage* message = finder_.message(types)) {
      ++(GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING ? posted.warnings : posted.errors);
      gst_message_unref(message);
    }
    return posted;
  }

 private:
  Finder finder_;
};

using Break = std::function<void()>;

/// Calls f for n = 1, 2, ... (or with larger steps, see simt::fault_step()) until there are fewer
/// calls after f has broken the n-th from then on.
void for_each_call(simt::Fault fault, const std::function<void(const Break&)>& f) {
  for (long n = 1; n < 5000; n += simt::fault_step()) {
    f([=] { simt::break_call(n, fault); });
    const long calls = simt::mend();
    assert_equals_uint64(simt::allocated_bytes(), 0);
    if (calls >= n) continue;
    fail_unless(n > 50, "only %ld calls", n);
    std::printf("of %ld calls every %ld. failed\n", calls, simt::fault_step());
    return;
  }
  fail("there are always more calls");
}

/// All frames leave in order with the right answers, by whichever backend, and one warning says
/// when it has changed. The target keeps its id.
void expect_all_frames(const std::string& settings, simt::Fault fault) {
  int changed = 0;
  for_each_call(fault, [&](const Break& break_call) {
    break_call();
    Stream stream(settings);
    for (int n = 0; n < frames; ++n) assert_equals_int(stream.push(n), GST_FLOW_OK);
    stream.end();
    const guint64 id = stream.pull(0).id;
    for (int n = 1; n < frames; ++n) assert_equals_uint64(stream.pull(n).id, id);
    const auto [warnings, errors] = stream.posted();
    assert_equals_int(errors, 0);
    fail_unless(warnings <= 1, "%d warnings", warnings);
    if (warnings) assert_text(stream.active_backend(), "cpu");
    changed += warnings;
  });
  fail_unless(changed * simt::fault_step() > 50, "the CPU took over %d times", changed);
}

const std::string plain = "async-depth=3",
                  tracks = "track=true tracker=template template-update=0.3";

ELEMENT_TEST(no_frame_is_lost_when_a_call_fails) { expect_all_frames(plain, simt::Fault::passing); }

ELEMENT_TEST(no_frame_is_lost_when_the_gpu_is_gone) {
  expect_all_frames(plain, simt::Fault::lasting);
}

/// All of a memory whose part a frame is, from its second time on until it is freed.
ELEMENT_TEST(memory_that_comes_back_is_pinned) {
  constexpr gsize side = 512, before = 4096;
  const auto is_pinned = [](const void* data) {
    return xcorr::runtime(xcorr::Backend::cuda).is_pinned(data, before + side * side);
  };
  const void* data = nullptr;
  {
    Finder finder("threshold=0.8 subpixel=false search-region=\"<0,0,48,40>\"");
    look_for_patch(finder);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, side, side);
    GstMemory* whole = gst_allocator_alloc(nullptr, before + side * side, nullptr);
    GstMapInfo map;
    fail_unless(gst_memory_map(whole, &map, GST_MAP_WRITE));
    std::memset(map.data, 0, map.size);
    data = map.data;
    gst_memory_unmap(whole, &map);
    for (int time = 0; time < 3; ++time) {
      assert_equals_int(is_pinned(data), time == 2);
      GstBuffer* frame = gst_buffer_new();
      gst_buffer_append_memory(frame, gst_memory_share(whole, before, side * side));
      assert_equals_int(finder.find(frame).peaks.size(), 0);
    }
    fail_unless(is_pinned(data));
    gst_memory_unref(whole);
  }
  fail_unless(!is_pinned(data));
}

/// Of which the GPU pins the memory, if it can.
ELEMENT_TEST(memory_comes_back_when_a_call_fails) {
  constexpr int side = 512;
  const Gray whole = texture(side, side, 1), part = texture(patch, patch, 50);
  Gray image = whole;
  for (int y = 0; y < patch; ++y)
    for (int x = 0; x < patch; ++x) image.at(20 + x, 10 + y) = part.at(x, y);
  for_each_call(simt::Fault::passing, [&](const Break& break_call) {
    break_call();
    GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
    Finder finder("threshold=0.8 subpixel=false search-region=\"<0,0,48,40>\"");
    look_for_patch(finder);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, side, side);
    for (int n = 0; n < 4; ++n) assert_at(only(finder.find(gst_buffer_ref(buffer))), 20, 10);
    gst_buffer_unref(buffer);
  });
}

ELEMENT_TEST(tracks_go_on_when_a_call_fails) { expect_all_frames(tracks, simt::Fault::passing); }

ELEMENT_TEST(tracks_go_on_when_the_gpu_is_gone) { expect_all_frames(tracks, simt::Fault::lasting); }

/// What filters have learnt is lost with the GPU: their targets end, and the template finds them.
ELEMENT_TEST(filters_end_with_the_gpu) {
  for (const long call : {1, 4, 16, 32}) {
    Finder finder("track=true tracker=filter threshold=0.8 min-frames-for-lost=2");
    look_for_patch(finder);
    const auto id_in = [&](int n) { return only(finder.find(frame(n))).id; };
    const guint64 id = id_in(0);
    for (int n = 1; n < frames; ++n) assert_equals_uint64(id_in(n), id);
    simt::break_call(call, simt::Fault::lasting);
    guint64 other = id;
    for (int n = frames; n < 2 * frames; ++n) other = id_in(n);
    assert_text(finder.get("active-backend"), "cpu");
    fail_unless(other != id);
    assert_equals_uint64(stat_of(finder.element, "entered"), 2);
    assert_equals_uint64(stat_of(finder.element, "dropped"), 1);
    simt::mend();
  }
}

/// With a kernel that only the GPU has the CPU works by its own.
ELEMENT_TEST(the_kernel_is_the_gpus) {
  Stream stream("kernel=overlap_wise");
  assert_equals_int(stream.push(0), GST_FLOW_OK);
  simt::break_call(1, simt::Fault::lasting);
  assert_equals_int(stream.push(1), GST_FLOW_OK);
  stream.pull(0);
  stream.pull(1);
  assert_text(stream.active_backend(), "cpu");
}

/// The CPU searches under the same mask.
ELEMENT_TEST(the_mask_is_kept) {
  Stream stream("mask=disc track=true tracker=template");
  assert_equals_int(stream.push(0, true), GST_FLOW_OK);
  simt::break_call(1, simt::Fault::lasting);
  for (int n = 1; n < frames; ++n) assert_equals_int(stream.push(n, true), GST_FLOW_OK);
  const guint64 id = stream.pull(0).id;
  for (int n = 1; n < frames; ++n) assert_equals_uint64(stream.pull(n).id, id);
  assert_text(stream.active_backend(), "cpu");
}

/// Where only the GPU will do, an error says so once, and what left before is right.
ELEMENT_TEST(backend_cuda_ends_the_stream) {
  int errors = 0;
  for_each_call(simt::Fault::lasting, [&](const Break& break_call) {
    Stream stream("backend=cuda " + plain);
    break_call();
    GstFlowReturn flow = GST_FLOW_OK;
    for (int n = 0; n < frames && flow == GST_FLOW_OK; ++n) flow = stream.push(n);
    for (int n = 0; stream.has_more(); ++n) stream.pull(n);
    const auto posted = stream.posted();
    assert_equals_int(posted.warnings, 0);
    assert_equals_int(posted.errors, flow == GST_FLOW_OK ? 0 : 1);
    errors += posted.errors;
  });
  fail_unless(errors > 30, "%d errors", errors);
}

ELEMENT_TEST(the_gpu_comes_back) {
  Stream stream(tracks);
  assert_equals_int(stream.push(0), GST_FLOW_OK);
  assert_text(stream.active_backend(), "cuda");
  simt::break_call(1, simt::Fault::lasting);
  assert_equals_int(stream.push(1), GST_FLOW_OK);
  assert_text(stream.active_backend(), "cpu");
  const Peak before = stream.pull(0);
  assert_equals_uint64(stream.pull(1).id, before.id);

  const gint64 start = g_get_monotonic_time();
  bool mended = false;
  while (stream.active_backend() == "cpu") {
    const double seconds = double(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    fail_unless(seconds < 60, "the GPU is not used again");
    // It is tried once in vain.
    if (seconds > 7 && !mended) mended = simt::mend() > 0;
    assert_equals_int(stream.push(2), GST_FLOW_OK);
    assert_equals_uint64(stream.pull(2).id, before.id);
    g_usleep(20000);
  }
  fail_unless(mended);
  assert_equals_int(stream.push(3), GST_FLOW_OK);
  assert_equals_uint64(stream.pull(3).id, before.id);
  assert_text(stream.active_backend(), "cuda");
  assert_equals_int(stream.posted().warnings, 1);
}

const Registered before_all([](TCase*) { gst_plugin_cudaxcorr_register(); });

}  // namespace
