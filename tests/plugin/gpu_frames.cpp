// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in CUDA memory: searched where they lie, with the results of frames in system memory, in
// the context that they belong to; and changes between kinds of memory and contexts. They come from
// GStreamer's cudaupload.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "moving_patch.hpp"

namespace {

constexpr int skipped = 77;  // Meson's code
constexpr char feature[] = "memory:CUDAMemory";

/// GST_CUDA_MEMORY_TRANSFER_NEED_DOWNLOAD, without CUDA's headers: what was written on the GPU has
/// not been brought to the host.
constexpr guint need_download = GST_MEMORY_FLAG_LAST;

bool is_on_gpu(GstCaps* caps) {
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), feature);
}

GstPad* pad_of(GstElement* element, const char* name) {
  GstPad* pad = gst_element_get_static_pad(element, name);
  gst_object_unref(pad);  // the element has it
  return pad;
}

bool has_gpu_caps(GstElement* element) {
  GstCaps* caps = gst_pad_get_current_caps(pad_of(element, "src"));
  const bool on_gpu = caps && is_on_gpu(caps);
  gst_clear_caps(&caps);
  return on_gpu;
}

/// The element's CUDA context, as a neighbour would get it; compared only.
gpointer context_of(GstElement* element) {
  GstQuery* query = gst_query_new_context("gst.cuda.context");
  gpointer found = nullptr;
  if (gst_pad_query(pad_of(element, "src"), query)) {
    GstContext* context = nullptr;
    gst_query_parse_context(query, &context);
    const GValue* value =
        gst_structure_get_value(gst_context_get_structure(context), "gst.cuda.context");
    if (value) found = g_value_get_object(value);
  }
  gst_query_unref(query);
  fail_unless(found != nullptr, "there is no context");
  return found;
}

/// Left to itself cudaupload passes on what the next element takes too, memory of the system.
const std::string upload = "cudaupload ! capsfilter caps=\"video/x-raw(memory:CUDAMemory)\" ! ";

/// Elements in a row of which one is `finder`, a cudaxcorr.
class Row {
 public:
  explicit Row(const std::string& launch) : harness_(gst_harness_new_parse(launch.c_str())) {
    fail_unless(harness_ != nullptr, "cannot make %s", launch.c_str());
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
  void push(const Gray& picture) {
    assert_equals_int(gst_harness_push(harness_, make_frame(format_, picture)), GST_FLOW_OK);
  }
  GstBuffer* pull() {
    GstBuffer* buffer = gst_harness_try_pull(harness_);
    fail_unless(buffer != nullptr, "no frame came out");
    return buffer;
  }
  Found find(const Gray& picture) {
    push(picture);
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

std::string finder(const std::string& more) {
  return "cudaxcorr name=finder backend=cuda subpixel=false template=" + World().file + " " + more;
}

/// Makes frames in CUDA memory, in a context of its own.
class Uploader {
 public:
  explicit Uploader(const std::string& settings = "")
      : row_("cudaupload " + settings + " ! capsfilter caps=\"video/x-raw(memory:CUDAMemory)\"") {
    row_.set_format(GST_VIDEO_FORMAT_NV12);
  }

  GstBuffer* upload(const Gray& picture) {
    row_.push(picture);
    return row_.pull();
  }
  /// Those of the last frame. The caller's.
  GstCaps* caps() { return gst_pad_get_current_caps(row_.harness()->sinkpad); }

 private:
  Row row_;
};

GST_START_TEST(pads_take_cuda_memory) {
  Finder element("");
  for (const char* name : {"sink", "src"}) {
    GstPad* pad = pad_of(element.element, name);
    const auto accepts = [pad](const char* format) {
      GstCaps* caps = gst_caps_from_string(
          (std::string("video/x-raw(memory:CUDAMemory),width=64,height=64,framerate=25/1,format=") +
           format)
              .c_str());
      const bool accepted = gst_pad_query_accept_caps(pad, caps);
      gst_caps_unref(caps);
      return accepted;
    };
    for (const char* format : {"NV12", "NV21", "I420", "YV12"})
      fail_unless(accepts(format), "%s does not take %s", name, format);
    fail_unless(!accepts("RGBA"), "%s takes RGBA, whose luma is no plane", name);
  }
}
GST_END_TEST

GST_START_TEST(results_are_those_of_system_memory) {
  const World world;
  const Gray picture = world.frame({{70, 50}, {200, 133}});
  for (const auto format : {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_NV21, GST_VIDEO_FORMAT_I420,
                            GST_VIDEO_FORMAT_YV12}) {
    const std::string more = "max-peaks=5 threshold=0.3 subpixel=true";
    Finder system("template=" + world.file + " " + more);
    system.set_format(format, frame_width, frame_height);
    const Found expected = system.find(picture);

    Row gpu(upload + finder(more));
    gpu.set_format(format);
    const Found found = gpu.find(picture);
    fail_unless(has_gpu_caps(gpu.finder()), "%s", gst_video_format_to_string(format));
    fail_unless(found.analysed);
    assert_equals_int(found.peaks.size(), expected.peaks.size());
    for (std::size_t i = 0; i < found.peaks.size(); ++i) {
      assert_at(found.peaks[i], expected.peaks[i].x, expected.peaks[i].y);
      assert_equals_float(found.peaks[i].score, expected.peaks[i].score);
    }
    assert_at(found.peaks.at(0), 70, 50, 0.1);
  }
}
GST_END_TEST

/// Pitches are others than in system memory.
GST_START_TEST(any_size) {
  const World world;
  for (const int width : {320, 318, 130, 66}) {
    Row gpu(upload + finder(""));
    gpu.set_format(GST_VIDEO_FORMAT_NV12, width, 102);
    assert_at(only(gpu.find(crop(world.frame({{width - 21, 71}}), 0, 0, width, 102))), width - 21,
              71);
  }
}
GST_END_TEST

GST_START_TEST(frames_stay_where_they_are) {
  struct Passed {
    GstMemory* memory;
    bool downloaded;
  };
  std::vector<Passed> passed;
  const auto note = +[](GstPad*, GstPadProbeInfo* info, gpointer list) {
    GstMemory* memory = gst_buffer_peek_memory(GST_PAD_PROBE_INFO_BUFFER(info), 0);
    const bool downloaded = !GST_MEMORY_FLAG_IS_SET(memory, need_download);
    static_cast<std::vector<Passed>*>(list)->push_back({memory, downloaded});
    return GST_PAD_PROBE_OK;
  };
  const World world;
  Row gpu(upload + finder(""));
  gpu.set_format(GST_VIDEO_FORMAT_NV12);
  for (const char* name : {"sink", "src"})
    gst_pad_add_probe(pad_of(gpu.finder(), name), GST_PAD_PROBE_TYPE_BUFFER, note, &passed,
                      nullptr);
  assert_at(only(gpu.find(world.frame({{70, 50}}))), 70, 50);
  assert_equals_int(passed.size(), 2);
  fail_unless(passed[0].memory == passed[1].memory, "the frame was copied");
  fail_unless(!passed[0].downloaded, "cudaupload itself had the frame on the host");
  fail_unless(!passed[1].downloaded, "the frame was brought to the host");
}
GST_END_TEST

GST_START_TEST(several_in_work) {
  const World world;
  Row gpu(upload + finder("async-depth=4"));
  gpu.set_format(GST_VIDEO_FORMAT_NV12);
  const int count = 40;
  for (int i = 0; i < count; ++i) {
    gpu.push(world.frame({{10 + 6 * i, 20 + 3 * i}}));
    if (i < 3) continue;
    GstBuffer* out = gpu.pull();
    assert_at(only(found_in(out)), 10 + 6 * (i - 3), 20 + 3 * (i - 3));
    gst_buffer_unref(out);
  }
  fail_unless(gst_harness_push_event(gpu.harness(), gst_event_new_eos()));
  for (int i = count - 3; i < count; ++i) {
    GstBuffer* out = gpu.pull();
    assert_at(only(found_in(out)), 10 + 6 * i, 20 + 3 * i);
    gst_buffer_unref(out);
  }
}
GST_END_TEST

GST_START_TEST(tracks) {
  const World world;
  Row gpu(upload + finder("track=true threshold=0.9 search-margin=12"));
  gpu.set_format(GST_VIDEO_FORMAT_NV12);
  for (int i = 0; i < 10; ++i) {
    const Peak target = only(gpu.find(world.frame({{40 + 7 * i, 30 + 5 * i}})));
    assert_at(target, 40 + 7 * i, 30 + 5 * i);
    assert_equals_uint64(target.id, 1);
  }
}
GST_END_TEST

GST_START_TEST(patch_of_a_frame_becomes_a_template) {
  const World world;
  Row gpu(upload + "cudaxcorr name=finder backend=cuda subpixel=false enable-capture=true");
  gpu.set_format(GST_VIDEO_FORMAT_NV12);
  gpu.push(world.frame({{70, 50}}));
  gst_buffer_unref(gpu.pull());
  guint id = 0;
  g_signal_emit_by_name(gpu.finder(), "capture-template", 70, 50, patch_size, patch_size, &id);
  fail_unless(id != 0);
  assert_at(only(gpu.find(world.frame({{201, 99}}))), 201, 99);
}
GST_END_TEST

/// They come to the host for it, by GStreamer.
GST_START_TEST(cpu_backend_takes_them_too) {
  const World world;
  Row row(upload + "cudaxcorr name=finder backend=cpu subpixel=false template=" + world.file);
  row.set_format(GST_VIDEO_FORMAT_I420);
  assert_at(only(row.find(world.frame({{70, 50}}))), 70, 50);
  fail_unless(has_gpu_caps(row.finder()));
}
GST_END_TEST

GST_START_TEST(neighbours_share_one_context) {
  const World world;
  for (const char* launch :
       {"cudaupload name=neighbour ! capsfilter caps=video/x-raw(memory:CUDAMemory) ! %s",
        "%s ! cudaupload name=neighbour"}) {
    gchar* text = g_strdup_printf(launch, finder("").c_str());
    Row row(text);
    g_free(text);
    row.set_format(GST_VIDEO_FORMAT_NV12);
    assert_at(only(row.find(world.frame({{70, 50}}))), 70, 50);
    GstElement* neighbour = gst_bin_get_by_name(GST_BIN(row.harness()->element), "neighbour");
    fail_unless(context_of(row.finder()) == context_of(neighbour));
    gst_object_unref(neighbour);
  }
}
GST_END_TEST

/// A cudaxcorr alone, which has a context of its own, gets frames of another one.
GST_START_TEST(kind_of_memory_changes_while_playing) {
  const World world;
  for (const char* depth : {"1", "4"}) {
    Finder element("subpixel=false template=" + world.file);
    Uploader uploader;
    const gpointer own = context_of(element.element);
    int place = 20;
    const auto expect = [&](GstBuffer* frame) {
      assert_equals_int(gst_harness_push(element.harness, frame), GST_FLOW_OK);
      GstQuery* query = gst_query_new_drain();  // gets frames in work out
      gst_pad_query(pad_of(element.element, "sink"), query);
      gst_query_unref(query);
      GstBuffer* out = gst_harness_try_pull(element.harness);
      fail_unless(out != nullptr, "no frame came out");
      assert_at(only(found_in(out)), place, 50);
      gst_buffer_unref(out);
      place += 9;
    };
    const auto picture = [&] { return world.frame({{place, 50}}); };
    element.set("async-depth", depth);
    for (int round = 0; round < 3; ++round) {
      element.set_format(GST_VIDEO_FORMAT_NV12, frame_width, frame_height);
      for (int i = 0; i < 3; ++i) expect(make_frame(GST_VIDEO_FORMAT_NV12, picture()));
      GstBuffer* frame = uploader.upload(picture());
      gst_harness_set_src_caps(element.harness, uploader.caps());
      expect(frame);
      fail_unless(has_gpu_caps(element.element));
      for (int i = 0; i < 3; ++i) expect(uploader.upload(picture()));
    }
    fail_unless(context_of(element.element) != own, "it still works in the context it had");
  }
}
GST_END_TEST

GST_START_TEST(contexts_take_turns) {
  const World world;
  Finder element("subpixel=false async-depth=2 template=" + world.file);
  Uploader uploaders[2];
  GstBuffer* frame = uploaders[0].upload(world.frame({{20, 50}}));
  gst_harness_set_src_caps(element.harness, uploaders[0].caps());
  assert_equals_int(gst_harness_push(element.harness, frame), GST_FLOW_OK);
  for (int i = 1; i < 9; ++i) {
    frame = uploaders[i % 2].upload(world.frame({{20 + 9 * i, 50}}));
    GstBuffer* out = gst_harness_push_and_pull(element.harness, frame);
    assert_at(only(found_in(out)), 20 + 9 * (i - 1), 50);
    gst_buffer_unref(out);
  }
}
GST_END_TEST

GST_START_TEST(frames_of_another_gpu) {
  if (!g_file_test("/dev/nvidia1", G_FILE_TEST_EXISTS)) {
    std::printf("not checked: there is no second GPU\n");
    return;
  }
  const World world;
  Finder element("subpixel=false cuda-device-id=0 template=" + world.file);
  Uploader uploader("cuda-device-id=1");
  for (int i = 0; i < 4; ++i) {
    GstBuffer* frame = uploader.upload(world.frame({{20 + 9 * i, 50}}));
    if (i == 0) gst_harness_set_src_caps(element.harness, uploader.caps());
    assert_at(only(element.find(frame)), 20 + 9 * i, 50);
  }
}
GST_END_TEST

GST_START_TEST(elements_come_and_go) {
  const World world;
  for (int i = 0; i < 8; ++i) {
    Row gpu(upload + finder("async-depth=3"));
    gpu.set_format(GST_VIDEO_FORMAT_NV12);
    for (int n = 0; n < 2; ++n) gpu.push(world.frame({{20, 30}}));  // still in work at the end
  }
}
GST_END_TEST

/// What the decoder gives stays on the GPU.
GST_START_TEST(behind_a_decoder) {
  for (const char* name : {"x264enc", "h264parse", "nvh264dec"})
    if (!gst_element_factory_find(name)) {
      std::printf("not checked: there is no %s\n", name);
      return;
    }
  Row row("x264enc tune=zerolatency ! h264parse ! nvh264dec ! " + finder("threshold=0.8"));
  row.set_format(GST_VIDEO_FORMAT_I420);
  const World world;
  for (int i = 0; i < 20; ++i) row.push(world.frame({{70, 50}}));
  fail_unless(gst_harness_push_event(row.harness(), gst_event_new_eos()));
  for (int i = 0; i < 20; ++i) {
    GstBuffer* out = row.pull();
    assert_at(only(found_in(out)), 70, 50);
    gst_buffer_unref(out);
  }
  fail_unless(has_gpu_caps(row.finder()));
}
GST_END_TEST

}  // namespace

Suite* suite() {
  if (!gst_element_factory_find("cudaupload")) {
    std::printf("SKIPPED: there is no cudaupload\n");
    std::fflush(stdout);
    std::exit(skipped);
  }
  Suite* suite = suite_create("gpu-frames");
  TCase* cases = tcase_create("gpu-frames");
  suite_add_tcase(suite, cases);
  tcase_add_test(cases, pads_take_cuda_memory);
  tcase_add_test(cases, results_are_those_of_system_memory);
  tcase_add_test(cases, any_size);
  tcase_add_test(cases, frames_stay_where_they_are);
  tcase_add_test(cases, several_in_work);
  tcase_add_test(cases, tracks);
  tcase_add_test(cases, patch_of_a_frame_becomes_a_template);
  tcase_add_test(cases, cpu_backend_takes_them_too);
  tcase_add_test(cases, neighbours_share_one_context);
  tcase_add_test(cases, kind_of_memory_changes_while_playing);
  tcase_add_test(cases, contexts_take_turns);
  tcase_add_test(cases, frames_of_another_gpu);
  tcase_add_test(cases, elements_come_and_go);
  tcase_add_test(cases, behind_a_decoder);
  return suite;
}
