// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames that lie in their buffers in unusual ways, and are read where their image is; buffers
// that hold less than they promise, and pass unanalysed with one warning.
#include <atomic>
#include <cstring>
#include <functional>

#include "live_templates.hpp"

namespace {

constexpr int width = 96, height = 64;
constexpr struct { int x, y, width, height; } target{40, 22, 16, 12};

Gray scene() { return texture(width, height); }

std::string patch() {
  return save(crop(scene(), target.x, target.y, target.width, target.height), "patch.png");
}

/// Memory of exactly that size, so that what is read outside of it is noticed.
GstMemory* memory_of(const std::vector<std::uint8_t>& bytes) {
  auto* data = static_cast<std::uint8_t*>(g_malloc(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), data);
  return gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), data, bytes.size(), 0, bytes.size(),
                                data, g_free);
}

GstBuffer* buffer_of(const std::vector<std::uint8_t>& bytes) {
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, memory_of(bytes));
  return buffer;
}

/// Copies the GstVideoMeta of a buffer without its memory.
GstBuffer* with_meta(GstBuffer* buffer, GstVideoMeta meta) {
  gst_buffer_add_video_meta_full(buffer, meta.flags, meta.format, meta.width, meta.height,
                                 meta.n_planes, meta.offset, meta.stride);
  return buffer;
}

/// The larger image as a frame with a GstVideoMeta of its size.
GstBuffer* larger_frame(GstVideoFormat format, const Gray& image) {
  return make_frame(format, image, 4);
}

GstBuffer* cropped(GstBuffer* buffer, guint x, guint y, guint w = width, guint h = height) {
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = x;
  crop->y = y;
  crop->width = w;
  crop->height = h;
  return buffer;
}

void assert_found_in(Finder& finder, GstBuffer* frame) {
  const Found found = finder.find(frame);
  fail_unless(found.analysed);
  assert_at(found.peaks.at(0), target.x, target.y);
  fail_unless(found.peaks[0].score == 1);
}

// ---- where the image is ---------------------------------------------------------------------

ELEMENT_TEST(padding_is_no_part_of_the_image) {
  Gray padded = texture(width + 8, height + 8, 3);
  paste(padded, scene(), 0, 0);
  for (const GstVideoFormat format : all_formats) {
    Finder finder("subpixel=false template=" + patch());
    finder.set_format(format, width, height);
    assert_found_in(finder, larger_frame(format, padded));
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  }
}

/// Its rectangle may be elsewhere in each frame; places are those of the image.
ELEMENT_TEST(crop_is_the_image) {
  for (const GstVideoFormat format : all_formats)
    for (const char* depth : {"1", "3"}) {
      Finder finder(std::string("subpixel=false async-depth=") + depth + " template=" + patch());
      finder.set_format(format, width, height);
      for (const auto& [x, y] : {std::pair(0u, 0u), {6u, 4u}, {2u, 30u}, {31u, 7u}}) {
        Gray whole = texture(width + 40, height + 30, 3);
        paste(whole, scene(), static_cast<int>(x), static_cast<int>(y));
        gst_harness_push(finder.harness, cropped(larger_frame(format, whole), x, y));
      }
      gst_harness_push_event(finder.harness, gst_event_new_eos());
      for (int i = 0; i < 4; ++i) {
        GstBuffer* out = gst_harness_pull(finder.harness);
        assert_at(found_in(out).peaks.at(0), target.x, target.y);
        gst_buffer_unref(out);
      }
      fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
    }
}

ELEMENT_TEST(templates_are_taken_from_the_image) {
  Gray whole = texture(width + 40, height + 30, 3);
  paste(whole, scene(), 6, 4);
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420}) {
    Finder finder("subpixel=false enable-capture=true");
    finder.set_format(format, width, height);
    gst_buffer_unref(finder.pass(cropped(larger_frame(format, whole), 6, 4)));
    fail_unless(capture(finder, target.x, target.y, target.width, target.height) > 0);
    assert_found_in(finder, make_frame(format, scene()));
  }
}

ELEMENT_TEST(samples_may_be_cropped) {
  const Gray pattern = crop(scene(), target.x, target.y, target.width, target.height);
  Gray whole = texture(60, 50, 3);
  paste(whole, pattern, 8, 6);
  const auto sample = [&](GstVideoFormat format, guint x, guint y) {
    return make_sample(cropped(larger_frame(format, whole), x, y, target.width, target.height),
                       format, target.width, target.height);
  };
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420}) {
    Finder finder("subpixel=false");
    fail_unless(add(finder, sample(format, 8, 6)) > 0);
    finder.set_format(format, width, height);
    assert_found_in(finder, make_frame(format, scene()));
  }
  Finder finder("");
  finder.set_format(GST_VIDEO_FORMAT_I420, width, height);
  assert_equals_int(add(finder, sample(GST_VIDEO_FORMAT_I420, 7, 6)), 0);
  assert_warned(finder, "between two pixels of the chroma");
}

/// The first row is the last in memory.
GstBuffer* bottom_up(GstVideoFormat format, const Gray& image) {
  GstBuffer* frame = make_frame(format, image, 4);
  GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  const GstVideoFormatInfo* info = gst_video_format_get_info(format);
  GstMapInfo map;
  fail_unless(gst_buffer_map(frame, &map, GST_MAP_READWRITE));
  for (guint plane = 0; plane < meta->n_planes; ++plane) {
    const int rows = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(info, plane == 0 ? 0 : 1, image.height);
    const int stride = meta->stride[plane];
    guint8* first = map.data + meta->offset[plane];
    for (int y = 0; y < rows / 2; ++y)
      std::swap_ranges(first + y * stride, first + (y + 1) * stride,
                       first + (rows - 1 - y) * stride);
    meta->offset[plane] += static_cast<gsize>((rows - 1) * stride);
    meta->stride[plane] = -stride;
  }
  gst_buffer_unmap(frame, &map);
  return frame;
}

ELEMENT_TEST(rows_from_the_bottom_up) {
  for (const GstVideoFormat format : all_formats) {
    Finder finder("subpixel=false template=" + patch());
    finder.set_format(format, width, height);
    assert_found_in(finder, bottom_up(format, scene()));
  }
}

/// They are converted to the frames' format.
ELEMENT_TEST(samples_from_the_bottom_up) {
  const Gray pattern = crop(scene(), target.x, target.y, target.width, target.height);
  for (const GstVideoFormat format : all_formats) {
    Finder finder("subpixel=false");
    fail_unless(add(finder, make_sample(bottom_up(format, pattern), format, target.width,
                                        target.height)) > 0);
    finder.set_format(format, width, height);
    assert_found_in(finder, make_frame(format, scene()));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
    gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene())));
  }
}

// ---- buffers that cannot be read ----------------------------------------------------------------

/// A frame in memory of exactly its size whose meta has been changed.
GstBuffer* promising(GstVideoFormat format, const std::function<void(GstVideoMeta&)>& change) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, width, height);
  GstBuffer* buffer = buffer_of(std::vector<std::uint8_t>(info.size, 77));
  GstVideoMeta meta{};
  meta.format = format;
  meta.width = width;
  meta.height = height;
  meta.n_planes = info.finfo->n_planes;
  std::copy_n(info.offset, 4, meta.offset);
  std::copy_n(info.stride, 4, meta.stride);
  change(meta);
  return with_meta(buffer, meta);
}

struct Bad {
  const char* reason;
  std::function<GstBuffer*(GstVideoFormat)> make;
};

GstBuffer* of_two_memories(GstVideoFormat format) {
  GstBuffer* buffer = promising(format, [](GstVideoMeta&) {});
  const auto half = static_cast<gssize>(gst_buffer_get_size(buffer) / 4);
  GstMemory* first = gst_memory_copy(gst_buffer_peek_memory(buffer, 0), 0, half);
  GstMemory* second = gst_memory_copy(gst_buffer_peek_memory(buffer, 0), half, -1);
  gst_buffer_replace_all_memory(buffer, first);
  gst_buffer_append_memory(buffer, second);
  return buffer;
}

const std::vector<Bad>& bad_buffers() {
  using Meta = GstVideoMeta;
  const auto bad = [](const char* reason, void (*change)(Meta&)) {
    return Bad{reason, [change](GstVideoFormat format) { return promising(format, change); }};
  };
  static constexpr char less[] = "its GstVideoMeta says more than it holds";
  static constexpr char other[] = "its GstVideoMeta is of another format than its caps";
  static constexpr char small[] = "its GstVideoMeta is smaller than its caps";
  static const std::vector<Bad> list = {
      {"it is too small for its caps",
       [](GstVideoFormat) { return buffer_of(std::vector<std::uint8_t>(100, 77)); }},
      {"it is too small for its caps", [](GstVideoFormat) { return gst_buffer_new(); }},
      {less, of_two_memories},
      bad(less, [](Meta& m) { m.stride[0] *= 5; }),
      bad(less, [](Meta& m) { m.stride[m.n_planes - 1] += 1; }),
      bad(less, [](Meta& m) { m.stride[0] = G_MAXINT; }),
      bad(less, [](Meta& m) { m.stride[0] = G_MININT; }),
      bad(less, [](Meta& m) { m.stride[0] = 0; }),
      bad(less, [](Meta& m) { m.stride[0] = 1; }),
      bad(less, [](Meta& m) { m.stride[0] = -m.stride[0]; }),
      bad(less, [](Meta& m) { m.offset[0] += 100000; }),
      bad(less, [](Meta& m) { m.offset[m.n_planes - 1] += 1; }),
      bad(less, [](Meta& m) { m.offset[0] = G_MAXSIZE; }),
      bad(less, [](Meta& m) { m.offset[0] = G_MAXSIZE - 10; }),
      bad(less, [](Meta& m) { m.height += 8; }),
      bad(less, [](Meta& m) { m.width = m.height = G_MAXINT; }),
      bad(small, [](Meta& m) { m.width = m.height = G_MAXUINT; }),
      bad(small, [](Meta& m) { m.width = 0; }),
      bad(small, [](Meta& m) { m.height -= 1; }),
      bad(other, [](Meta& m) { m.format = GST_VIDEO_FORMAT_AYUV64; }),
      bad(other, [](Meta& m) { m.n_planes = m.n_planes == 1 ? 2 : 1; }),
      {"its GstVideoCropMeta is of another size than its caps",
       [](GstVideoFormat format) {
         return cropped(make_frame(format, texture(width, height)), 0, 0, width - 2, height);
       }},
      {"its GstVideoCropMeta reaches outside of it",
       [](GstVideoFormat format) {
         return cropped(larger_frame(format, texture(width + 8, height + 8)), 10, 2);
       }},
      {"its GstVideoCropMeta reaches outside of it",
       [](GstVideoFormat format) {
         return cropped(larger_frame(format, texture(width + 8, height + 8)), 2, G_MAXUINT);
       }},
  };
  return list;
}

ELEMENT_TEST(bad_buffers_pass_with_one_warning) {
  for (const GstVideoFormat format : all_formats)
    for (const Bad& bad : bad_buffers()) {
      Finder finder("subpixel=false template=" + patch());
      finder.set_format(format, width, height);
      for (int i = 0; i < 3; ++i) {
        const Found found = finder.find(bad.make(format));
        fail_if(found.analysed, "%s, number %d", gst_video_format_to_string(format),
                static_cast<int>(&bad - bad_buffers().data()));
        assert_equals_int(found.peaks.size(), 0);
      }
      assert_warned(finder, bad.reason, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
      assert_found_in(finder, make_frame(format, scene()));
      fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
    }
}

/// With `interval` the next good one is due; with tracks they go on.
ELEMENT_TEST(bad_buffers_among_good_ones) {
  for (const char* settings : {"interval=5 ", "track=true tracker=template ", "async-depth=4 "}) {
    Finder finder(std::string("subpixel=false ") + settings + "template=" + patch());
    finder.set_format(GST_VIDEO_FORMAT_NV12, width, height);
    for (const Bad& bad : bad_buffers()) {
      gst_harness_push(finder.harness, bad.make(GST_VIDEO_FORMAT_NV12));
      gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_NV12, scene()));
    }
    gst_harness_push_event(finder.harness, gst_event_new_eos());
    for (std::size_t i = 0; i < 2 * bad_buffers().size(); ++i) {
      GstBuffer* out = gst_harness_pull(finder.harness);
      const Found found = found_in(out);
      gst_buffer_unref(out);
      if (i == 1 || (i % 2 && !finder.get("interval").starts_with("5")))
        assert_at(found.peaks.at(0), target.x, target.y);
      else if (i % 2 == 0)
        fail_if(found.analysed);
    }
    gst_message_unref(finder.message(GST_MESSAGE_WARNING));
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr, "a second warning");
  }
}

ELEMENT_TEST(warned_again_of_frames_with_other_caps) {
  Finder finder("template=" + patch());
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420}) {
    finder.set_format(format, width, height);
    fail_if(finder.find(gst_buffer_new()).analysed);
    assert_warned(finder, "too small", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  }
}

ELEMENT_TEST(frames_of_other_caps_that_cost_too_much_pass) {
  const auto format = GST_VIDEO_FORMAT_GRAY8;
  Finder finder("subpixel=false max-memory=5000000 template=" + patch());
  for (int round = 0; round < 2; ++round) {
    finder.set_format(format, width, height);
    assert_found_in(finder, make_frame(format, scene()));
    finder.set_format(format, 2048, 2048);
    fail_if(finder.find(make_frame(format, texture(2048, 2048))).analysed);
    assert_warned(finder, "more than the 0.005 GB of max-memory", GST_STREAM_ERROR,
                  GST_STREAM_ERROR_FORMAT);
  }
}

/// How often the element has prepared for a task, by its log.
void count_preparations(GstDebugCategory*, GstDebugLevel, const gchar*, const gchar*, gint,
                        GObject*, GstDebugMessage* message, gpointer count) {
  if (g_str_has_prefix(gst_debug_message_get(message), "preparing"))
    ++*static_cast<std::atomic<int>*>(count);
}

/// Not for each frame, but again for other settings, templates and caps.
ELEMENT_TEST(what_costs_too_much_is_tried_once) {
  constexpr auto format = GST_VIDEO_FORMAT_GRAY8;
  std::atomic<int> preparations = 0;
  gst_debug_set_threshold_for_name("cudaxcorr", GST_LEVEL_DEBUG);
  gst_debug_add_log_function(count_preparations, &preparations, nullptr);
  Finder finder("subpixel=false max-memory=5000000 template=" + patch());
  const auto preparations_of_frames = [&](int size) {
    const int before = preparations;
    const Gray image(size, size, 99);
    for (int i = 0; i < 5; ++i) finder.find(make_frame(format, image));
    return preparations - before;
  };
  finder.set_format(format, 2048, 2048);
  assert_equals_int(preparations_of_frames(2048), 1);
  finder.set("threshold", "0.7");
  assert_equals_int(preparations_of_frames(2048), 1);
  finder.set_format(format, 2040, 2040);
  assert_equals_int(preparations_of_frames(2040), 1);
  finder.set("max-memory", "0");
  assert_equals_int(preparations_of_frames(2040), 1);
  fail_unless(finder.find(make_frame(format, Gray(2040, 2040))).analysed);
  gst_debug_remove_log_function(count_preparations);
  gst_debug_unset_threshold_for_name("cudaxcorr");
}

struct Unmappable {
  GstAllocator parent;
};
struct UnmappableClass {
  GstAllocatorClass parent_class;
};
G_DEFINE_TYPE(Unmappable, unmappable, GST_TYPE_ALLOCATOR)
void unmappable_class_init(UnmappableClass* klass) {
  klass->parent_class.free = [](GstAllocator*, GstMemory* memory) { delete memory; };
}
void unmappable_init(Unmappable* self) {
  self->parent.mem_map = [](GstMemory*, gsize, GstMapFlags) -> gpointer { return nullptr; };
}

GstBuffer* unmappable_frame() {
  auto* allocator = static_cast<GstAllocator*>(g_object_new(unmappable_get_type(), nullptr));
  auto* memory = new GstMemory;
  gst_memory_init(memory, GST_MEMORY_FLAG_NO_SHARE, allocator, nullptr, width * height, 0, 0,
                  width * height);
  gst_object_unref(allocator);
  GstBuffer* frame = gst_buffer_new();
  gst_buffer_append_memory(frame, memory);
  return frame;
}

ELEMENT_TEST(memory_that_cannot_be_mapped) {
  Finder finder("subpixel=false template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  fail_if(finder.find(unmappable_frame()).analysed);
  assert_warned(finder, "cannot be mapped", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
}

/// It passes all elements, which each say it, and what comes next is marked again.
ELEMENT_TEST(memory_that_cannot_be_mapped_is_passed_on) {
  GstElement* pipeline = gst_parse_launch(
      ("appsrc name=in format=time caps=video/x-raw,format=GRAY8,width=" + std::to_string(width) +
       ",height=" + std::to_string(height) + ",framerate=25/1 ! cudaxcorr backend=" + backend() +
       " template=" + patch() + " ! xcorroverlay ! fakesink name=out sync=false")
          .c_str(),
      nullptr);
  GstElement* in = gst_bin_get_by_name(GST_BIN(pipeline), "in");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  for (const bool sound : {true, false, true}) {
    GstBuffer* frame = sound ? make_frame(GST_VIDEO_FORMAT_GRAY8, scene()) : unmappable_frame();
    GstFlowReturn flow = GST_FLOW_OK;
    g_signal_emit_by_name(in, "push-buffer", frame, &flow);
    gst_buffer_unref(frame);
  }
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(in, "end-of-stream", &flow);
  GstBus* bus = gst_element_get_bus(pipeline);
  std::vector<std::string> texts;
  while (
      GstMessage* message = gst_bus_timed_pop_filtered(
          bus, GST_CLOCK_TIME_NONE,
          static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR | GST_MESSAGE_EOS))) {
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_WARNING) {
      fail_unless(GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS);
      gst_message_unref(message);
      break;
    }
    texts.push_back(text_of(message, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  }
  assert_equals_int(texts.size(), 2);
  assert_text(texts[0], "A frame passes unanalysed: its memory cannot be mapped");
  assert_text(texts[1], "A frame passes without marks: its memory cannot be mapped");
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(in);
  gst_object_unref(pipeline);
}

/// Flags say nothing about the pixels.
ELEMENT_TEST(flagged_and_shared_buffers_are_analysed) {
  for (const char* depth : {"1", "3"}) {
    Finder finder(std::string("subpixel=false async-depth=") + depth + " template=" + patch());
    finder.set_format(GST_VIDEO_FORMAT_NV12, width, height);
    std::vector<GstBuffer*> shared;
    for (const int flag :
         {GST_BUFFER_FLAG_CORRUPTED, GST_BUFFER_FLAG_GAP, GST_BUFFER_FLAG_DROPPABLE,
          GST_BUFFER_FLAG_DECODE_ONLY, GST_BUFFER_FLAG_HEADER}) {
      shared.push_back(make_frame(GST_VIDEO_FORMAT_NV12, scene()));
      GST_BUFFER_FLAG_SET(shared.back(), flag);
      gst_harness_push(finder.harness, gst_buffer_ref(shared.back()));
    }
    gst_harness_push_event(finder.harness, gst_event_new_eos());
    for (GstBuffer* in : shared) {
      GstBuffer* out = gst_harness_pull(finder.harness);
      assert_at(found_in(out).peaks.at(0), target.x, target.y);
      fail_unless(gst_cuda_xcorr_get_result(in) == nullptr, "the shared buffer was written to");
      gst_buffer_unref(out);
      gst_buffer_unref(in);
    }
  }
}

}  // namespace
