// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context that elements share and that frames belong to; changes between contexts and
// kinds of memory.
#include "gpu_frames.hpp"

namespace {

/// The element's CUDA context, as a neighbour would get it; only for comparison.
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
  /// The peaks of the last frame.
  GstCaps* caps() { return gst_pad_get_current_caps(row_.harness()->sinkpad); }

 private:
  Row row_;
};

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

/// A cudaxcorr with a context of its own receives frames of another context.
GST_START_TEST(kind_of_memory_changes_while_playing) {
  const World world;
  for (const char* depth : {"1", "4"}) {
    Finder element("subpixel=false template=" + world.file);
    Uploader uploader;
    const gpointer own = context_of(element.element);
    int place = 20;
    const auto expect = [&](GstBuffer* frame) {
      assert_equals_int(gst_harness_push(element.harness, frame), GST_FLOW_OK);
      GstQuery* query = gst_query_new_drain();  // flushes the frames in flight out
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
    for (int n = 0; n < 2; ++n) gpu.push(world.frame({{20, 30}}));  // still in flight at the end
  }
}
GST_END_TEST

}  // namespace

Suite* suite() {
  skip_without_uploads();
  Suite* suite = suite_create("gpu-contexts");
  TCase* cases = tcase_create("gpu-contexts");
  suite_add_tcase(suite, cases);
  tcase_add_test(cases, neighbours_share_one_context);
  tcase_add_test(cases, kind_of_memory_changes_while_playing);
  tcase_add_test(cases, contexts_take_turns);
  tcase_add_test(cases, frames_of_another_gpu);
  tcase_add_test(cases, elements_come_and_go);
  return suite;
}
