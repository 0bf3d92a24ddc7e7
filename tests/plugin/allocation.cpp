// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The answer to elements upstream that ask for buffers to fill: what downstream proposes or else,
// on a GPU, pinned memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <gst/allocators/allocators.h>

#include "support.hpp"

namespace {

bool on_gpu() { return std::string(backend()) == "cuda"; }

struct Answer {
  GstBufferPool* pool = nullptr;
  guint size = 0, min = 0, max = 0;
  bool answered = false;
};

GstPad* sink_pad(Finder& finder) {
  GstPad* pad = gst_element_get_static_pad(finder.element, "sink");
  gst_object_unref(pad);  // the element has it
  return pad;
}

/// The first pool of the answer, owned by the caller.
Answer ask(Finder& finder) {
  GstCaps* caps = gst_pad_get_current_caps(sink_pad(finder));
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_caps_unref(caps);
  Answer answer;
  answer.answered = gst_pad_query(sink_pad(finder), query);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &answer.pool, &answer.size, &answer.min,
                                        &answer.max);
  gst_query_unref(query);
  return answer;
}

/// A buffer of the pool, filled with the luma and no colour.
GstBuffer* fill(GstBufferPool* pool, GstVideoFormat format, const Gray& image) {
  GstBuffer* buffer = nullptr;
  assert_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, image.width, image.height);
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  auto* luma = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      luma[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x] = image.at(x, y);
  gst_video_frame_unmap(&frame);
  return buffer;
}

std::string patch_of(const Gray& scene) { return save(crop(scene, 31, 22, 16, 12), "patch.png"); }

ELEMENT_TEST(own_pool_serves_a_stream) {
  const Gray scene = texture(120, 90);
  for (const int depth : {1, 3}) {
    Finder finder("subpixel=false async-depth=" + std::to_string(depth) +
                  " template=" + patch_of(scene));
    finder.set_format(GST_VIDEO_FORMAT_NV12, scene.width, scene.height);
    const Answer answer = ask(finder);
    assert_equals_int(answer.pool != nullptr, on_gpu());
    if (!answer.pool) continue;
    fail_unless(answer.answered);
    fail_unless(gst_buffer_pool_set_active(answer.pool, TRUE));
    for (int i = 0; i < 10; ++i) {
      GstBuffer* frame = fill(answer.pool, GST_VIDEO_FORMAT_NV12, scene);
      assert_equals_int(gst_harness_push(finder.harness, frame), GST_FLOW_OK);
      if (i < depth - 1) continue;
      GstBuffer* out = gst_harness_try_pull(finder.harness);
      fail_unless(out != nullptr);
      assert_at(found_in(out).peaks.at(0), 31, 22);
      gst_buffer_unref(out);
    }
    gst_buffer_pool_set_active(answer.pool, FALSE);
    gst_object_unref(answer.pool);
  }
}

ELEMENT_TEST(buffers_outlive_the_element) {
  if (!on_gpu()) return;
  const Gray scene = texture(120, 90);
  GstBuffer* frame;
  {
    Finder finder("template=" + patch_of(scene));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
    GstBufferPool* pool = ask(finder).pool;
    fail_unless(gst_buffer_pool_set_active(pool, TRUE));
    frame = fill(pool, GST_VIDEO_FORMAT_GRAY8, scene);
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
  Finder finder("subpixel=false template=" + patch_of(scene));
  assert_at(finder.find(scene).peaks.at(0), 31, 22);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  assert_at(finder.find(frame).peaks.at(0), 31, 22);
}

/// Ordinary memory of a pool, which is pinned when it comes for the second time, with another image
/// each time. Two elements have each frame.
ELEMENT_TEST(memory_that_comes_back) {
  constexpr int side = 512;  // smaller memory is left alone
  const Gray part = texture(16, 12, 7);
  const std::string settings = "subpixel=false template=" + save(part, "part.png");
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, nullptr, side * side, 1, 1);
  fail_unless(gst_buffer_pool_set_config(pool, config));
  fail_unless(gst_buffer_pool_set_active(pool, TRUE));
  {
    Finder first(settings), second(settings);
    for (Finder* finder : {&first, &second}) finder->set_format(GST_VIDEO_FORMAT_GRAY8, side, side);
    for (int i = 0; i < 5; ++i) {
      Gray scene = texture(side, side);
      paste(scene, part, 40 + 9 * i, 30 + 50 * i);
      GstBuffer* frame = fill(pool, GST_VIDEO_FORMAT_GRAY8, scene);
      GstMemory* memory = gst_buffer_peek_memory(frame, 0);
      const bool known = gst_mini_object_get_qdata(
          GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string("cudaxcorr-registration"));
      assert_equals_int(known, on_gpu() && i > 0);
      assert_at(first.find(gst_buffer_ref(frame)).peaks.at(0), 40 + 9 * i, 30 + 50 * i);
      assert_at(second.find(frame).peaks.at(0), 40 + 9 * i, 30 + 50 * i);
    }
  }
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

/// A camera's frames: a file descriptor that is mapped anew for each, with rows and a beginning of
/// its own. No camera is needed: memory of the process takes the driver's place.
ELEMENT_TEST(dmabuf_as_cameras_have_it) {
  constexpr int side = 512, stride = side + 64;
  constexpr gsize begin = 192, bytes = begin + gsize{stride} * side;
  const Gray part = texture(16, 12, 7);
  const int file = memfd_create("camera", MFD_CLOEXEC);
  fail_unless(file >= 0 && ftruncate(file, bytes) == 0);
  GstAllocator* allocator = gst_dmabuf_allocator_new();
  GstMemory* memory = gst_dmabuf_allocator_alloc(allocator, file, bytes);  // owns the file
  {
    Finder finder("subpixel=false template=" + save(part, "part.png"));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, side, side);
    for (int i = 0; i < 4; ++i) {
      Gray scene = texture(side, side);
      paste(scene, part, 40 + 9 * i, 30 + 50 * i);
      GstMapInfo map;
      fail_unless(gst_memory_map(memory, &map, GST_MAP_WRITE));
      for (int y = 0; y < side; ++y)
        std::copy_n(&scene.at(0, y), side, map.data + begin + gsize{stride} * y);
      gst_memory_unmap(memory, &map);
      GstBuffer* frame = gst_buffer_new();
      gst_buffer_append_memory(frame, gst_memory_ref(memory));
      gsize offsets[GST_VIDEO_MAX_PLANES] = {begin};
      gint strides[GST_VIDEO_MAX_PLANES] = {stride};
      gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, side,
                                     side, 1, offsets, strides);
      assert_at(finder.find(frame).peaks.at(0), 40 + 9 * i, 30 + 50 * i);
    }
  }
  gst_memory_unref(memory);
  gst_object_unref(allocator);
}

/// Downstream proposes a pool, which must be larger by the frames in flight here.
ELEMENT_TEST(pool_of_downstream_is_passed_on) {
  GstBufferPool* pool = gst_buffer_pool_new();
  const auto propose = +[](GstPad*, GstPadProbeInfo* info, gpointer pool) {
    GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
    gst_query_add_allocation_pool(query, GST_BUFFER_POOL(pool), 5400, 2, 4);
    return GST_PAD_PROBE_HANDLED;
  };
  Finder finder("async-depth=3");
  GstPad* pad = gst_element_get_static_pad(finder.element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose, pool, nullptr);
  gst_object_unref(pad);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, 60, 90);
  const Answer answer = ask(finder);
  fail_unless(answer.answered);
  fail_unless(answer.pool == pool);
  assert_equals_int(answer.size, 5400);
  assert_equals_int(answer.min, 2 + 2);
  assert_equals_int(answer.max, 4 + 2);
  gst_object_unref(answer.pool);
  gst_object_unref(pool);
}

}  // namespace
