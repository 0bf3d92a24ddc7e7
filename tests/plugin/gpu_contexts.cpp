// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context that elements share and that frames belong to; changes between contexts and
// kinds of memory.
#include <memory>

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

  GstBuffer* upload(const Gray& image) {
    row_.push(image);
    return row_.pull();
  }
  /// The peaks of the last frame.
  GstCaps* caps() { return gst_pad_get_current_caps(row_.harness()->sinkpad); }

 private:
  Row row_;
};

ELEMENT_TEST(neighbours_share_one_context) {
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

/// A cudaxcorr with a context of its own receives frames of another context.
ELEMENT_TEST(kind_of_memory_changes_while_playing) {
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
    const auto image = [&] { return world.frame({{place, 50}}); };
    element.set("async-depth", depth);
    for (int round = 0; round < 3; ++round) {
      element.set_format(GST_VIDEO_FORMAT_NV12, frame_width, frame_height);
      for (int i = 0; i < 3; ++i) expect(make_frame(GST_VIDEO_FORMAT_NV12, image()));
      GstBuffer* frame = uploader.upload(image());
      gst_harness_set_src_caps(element.harness, uploader.caps());
      expect(frame);
      fail_unless(has_gpu_caps(element.element));
      for (int i = 0; i < 3; ++i) expect(uploader.upload(image()));
    }
    fail_unless(context_of(element.element) != own, "it still works in the context it had");
  }
}

ELEMENT_TEST(contexts_take_turns) {
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

bool has_second_gpu() {
  const bool has =
      g_file_test("/dev/nvidia1", G_FILE_TEST_EXISTS) && !g_getenv("CUDA_VISIBLE_DEVICES");
  if (!has) std::printf("not checked: no second GPU is there, or seen\n");
  return has;
}

/// CUDA's number of the GPU on which an element works.
guint gpu_of(GstElement* element) {
  guint id = G_MAXUINT;
  g_object_get(context_of(element), "cuda-device-id", &id, nullptr);
  return id;
}

/// Any GPU will do, so the one with the least work is taken; what has ended does not count.
ELEMENT_TEST(elements_spread) {
  if (!has_second_gpu()) return;
  const World world;
  const auto make = [&] {
    return std::make_unique<Finder>("subpixel=false template=" + world.file);
  };
  const auto one = make();
  auto other = make();
  assert_equals_int(gpu_of(one->element), 0);
  assert_equals_int(gpu_of(other->element), 1);
  other = nullptr;
  const auto third = make();
  assert_equals_int(gpu_of(third->element), 1);
  for (Finder* finder : {one.get(), third.get()}) {
    assert_at(only(finder->find(world.frame({{70, 50}}))), 70, 50);
    assert_text(finder->get("active-backend"), "cuda");
  }
}

/// Frames in the memory of a GPU decide, not the load.
ELEMENT_TEST(elements_go_where_frames_are) {
  if (!has_second_gpu()) return;
  const World world;
  std::unique_ptr<Finder> finders[3];
  Uploader uploader("cuda-device-id=1");
  for (auto& finder : finders) {
    finder = std::make_unique<Finder>("subpixel=false template=" + world.file);
    GstBuffer* frame = uploader.upload(world.frame({{70, 50}}));
    gst_harness_set_src_caps(finder->harness, uploader.caps());
    assert_at(only(finder->find(frame)), 70, 50);
    assert_equals_int(gpu_of(finder->element), 1);
    assert_equals_uint64(stat_of(finder->element, "in-gpu-memory"), 1);
  }
}

/// Frames in host memory and in each GPU's: what two find is what one finds, bit for bit.
ELEMENT_TEST(one_element_on_several_gpus) {
  if (!has_second_gpu()) return;
  const World world;
  const Gray image = world.frame({{70, 50}, {200, 133}});
  std::vector<std::string> files = {world.file};
  for (int i = 0; i < 7; ++i)
    files.push_back(save(crop(image, 9 + 31 * i, 20 + 11 * i, 12 + i % 3, 14),
                         "part" + std::to_string(i) + ".png"));
  const std::string settings =
      "backend=cuda max-peaks=3 threshold=0.3 templates=\"" + array_of(files) + "\" ";
  Finder one(settings + "cuda-device-id=0");
  one.set_format(GST_VIDEO_FORMAT_NV12, frame_width, frame_height);
  const Found expected = one.find(image);
  fail_unless(expected.peaks.size() > files.size());
  const auto check = [&](const Found& found) {
    assert_equals_int(found.peaks.size(), expected.peaks.size());
    for (std::size_t i = 0; i < found.peaks.size(); ++i) {
      const Peak &peak = found.peaks[i], &same = expected.peaks[i];
      assert_text(peak.label, same.label);
      fail_unless(peak.x == same.x && peak.y == same.y && peak.score == same.score, "peak %zu", i);
    }
  };
  for (const char* devices : {"0,1", "1,0", "0"}) {
    Finder host(settings + "async-depth=1 devices=" + devices);
    host.set_format(GST_VIDEO_FORMAT_NV12, frame_width, frame_height);
    for (int i = 0; i < 3; ++i) check(host.find(image));
    for (const char* gpu : {"0", "1"}) {
      Finder finder(settings + "devices=" + devices);
      Uploader uploader(std::string("cuda-device-id=") + gpu);
      GstBuffer* frame = uploader.upload(image);
      gst_harness_set_src_caps(finder.harness, uploader.caps());
      check(finder.find(frame));
      check(finder.find(uploader.upload(image)));
      assert_equals_uint64(stat_of(finder.element, "in-gpu-memory"), 2);
    }
  }
}

/// Which is told, and the targets are followed.
ELEMENT_TEST(changing_templates_on_several_gpus) {
  if (!has_second_gpu()) return;
  const World world;
  const std::string other = save(texture(14, 13, 7), "other.png");
  Finder finder("backend=cuda track=true tracker=template devices=0,1 templates=\"" +
                array_of({world.file, other}) + "\"");
  for (int i = 0; i < 5; ++i) finder.find(world.frame({{70, 50}}));
  assert_at(only(finder.find(world.frame({{70, 50}}))), 70, 50, 0.1);
  assert_warned(finder, "'devices': templates that change", GST_STREAM_ERROR,
                GST_STREAM_ERROR_FAILED);
}

ELEMENT_TEST(frames_of_another_gpu) {
  if (!has_second_gpu()) return;
  const World world;
  Finder element("subpixel=false cuda-device-id=0 template=" + world.file);
  Uploader uploader("cuda-device-id=1");
  for (int i = 0; i < 4; ++i) {
    GstBuffer* frame = uploader.upload(world.frame({{20 + 9 * i, 50}}));
    if (i == 0) gst_harness_set_src_caps(element.harness, uploader.caps());
    assert_at(only(element.find(frame)), 20 + 9 * i, 50);
  }
}

ELEMENT_TEST(elements_come_and_go) {
  const World world;
  for (int i = 0; i < 8; ++i) {
    Row gpu(upload + finder("async-depth=3"));
    gpu.set_format(GST_VIDEO_FORMAT_NV12);
    for (int n = 0; n < 2; ++n) gpu.push(world.frame({{20, 30}}));  // still in flight at the end
  }
}

const Registered before_all([](TCase*) {
  skip_without_uploads();
  share_context_of(nullptr);
});

}  // namespace
