// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in CUDA memory, from GStreamer's cudaupload and nvh264dec: searched in place, in every
// format, with the same results as in system memory.
#include "gpu_frames.hpp"

namespace {

/// GST_CUDA_MEMORY_TRANSFER_NEED_DOWNLOAD, without CUDA's headers: what was written on the GPU has
/// not been downloaded.
constexpr guint need_download = GST_MEMORY_FLAG_LAST;

/// The formats that the element takes in CUDA memory.
constexpr auto gpu_formats = cudaxcorr::formats_that<cudaxcorr::is_in_cuda_memory>();
constexpr int format_count = gpu_formats.size();

void assert_same(const Found& found, const Found& expected) {
  fail_unless(found.analysed);
  assert_equals_int(found.peaks.size(), expected.peaks.size());
  for (std::size_t i = 0; i < found.peaks.size(); ++i) {
    assert_at(found.peaks[i], expected.peaks[i].x, expected.peaks[i].y);
    assert_equals_float(found.peaks[i].score, expected.peaks[i].score);
  }
}

ELEMENT_TEST(pads_take_cuda_memory) {
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
    for (const auto format : gpu_formats) {
      const char* text = gst_video_format_to_string(format);
      fail_unless(accepts(text), "%s does not take %s", name, text);
    }
    for (const char* format : {"GRAY8", "P012_LE", "xRGB"})
      fail_unless(!accepts(format), "%s takes %s", name, format);
  }
}

ELEMENT_TESTS(results_are_those_of_system_memory, 0, format_count) {
  const World world;
  const Gray image = world.frame({{70, 50}, {200, 133}});
  const GstVideoFormat format = gpu_formats[__i__];
  const std::string more = "max-peaks=5 threshold=0.3 subpixel=true";
  Finder system("template=" + world.file + " " + more);
  system.set_format(format, frame_width, frame_height);

  Row gpu(upload + finder(more));
  gpu.set_format(format);
  const Found found = gpu.find(image);
  assert_searched_on_gpu(gpu.finder(), 1);
  assert_same(found, system.find(image));
  assert_at(found.peaks.at(0), 70, 50, 0.1);
}

/// Each component has its own weight.
ELEMENT_TESTS(colours_are_those_of_system_memory, 0, format_count) {
  const GstVideoFormat format = gpu_formats[__i__];
  if (!GST_VIDEO_FORMAT_INFO_IS_RGB(gst_video_format_get_info(format))) return;
  const int width = 131, height = 77;
  const Gray planes[] = {texture(width, height, 1), texture(width, height, 2),
                         texture(width, height, 3)};
  const auto frame = [&] { return make_frame(format, planes[0], planes[1], planes[2]); };
  const auto part = [&](int i) { return crop(planes[i], 33, 18, 14, 13); };
  const std::string more = "max-peaks=5 threshold=0.2 subpixel=false template=" +
                           save(part(0), part(1), part(2), "colours.png");
  Finder system(more);
  system.set_format(format, width, height);

  Row gpu(upload + "cudaxcorr name=finder backend=cuda " + more);
  gpu.set_format(format, width, height);
  const Found found = gpu.find(frame());
  assert_searched_on_gpu(gpu.finder(), 1);
  assert_same(found, system.find(frame()));
  assert_at(found.peaks.at(0), 33, 18);
  fail_unless(found.peaks[0].score == 1.0, "score %.17g", found.peaks[0].score);
}

/// Pitches differ from those in system memory.
ELEMENT_TEST(any_size) {
  const World world;
  const std::pair<GstVideoFormat, int> kinds[] = {
      {GST_VIDEO_FORMAT_NV12, 320}, {GST_VIDEO_FORMAT_NV12, 318}, {GST_VIDEO_FORMAT_NV12, 66},
      {GST_VIDEO_FORMAT_RGBA, 131}, {GST_VIDEO_FORMAT_BGR, 317},  {GST_VIDEO_FORMAT_BGR, 66}};
  for (const auto& [format, width] : kinds) {
    Row gpu(upload + finder(""));
    gpu.set_format(format, width, 102);
    assert_at(only(gpu.find(crop(world.frame({{width - 21, 71}}), 0, 0, width, 102))), width - 21,
              71);
  }
}

/// The part that is read begins at any byte of a row.
ELEMENT_TEST(any_region) {
  const World world;
  for (const auto format : {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGRx})
    for (int x = 41; x < 46; ++x) {
      const std::string region = " search-region=\"<" + std::to_string(x) + ",30,151,103>\"";
      Row gpu(upload + finder(region + " prefilter-sigma=" + (x % 2 ? "0" : "1")));
      gpu.set_format(format);
      assert_at(only(gpu.find(world.frame({{70, 50}}))), 70, 50);
    }
}

ELEMENT_TESTS(frames_stay_where_they_are, 0, format_count) {
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
  gpu.set_format(gpu_formats[__i__]);
  for (const char* name : {"sink", "src"})
    gst_pad_add_probe(pad_of(gpu.finder(), name), GST_PAD_PROBE_TYPE_BUFFER, note, &passed,
                      nullptr);
  assert_at(only(gpu.find(world.frame({{70, 50}}))), 70, 50);
  assert_equals_int(passed.size(), 2);
  fail_unless(passed[0].memory == passed[1].memory, "the frame was copied");
  fail_unless(!passed[0].downloaded, "cudaupload itself had the frame on the host");
  fail_unless(!passed[1].downloaded, "the frame was brought to the host");
}

ELEMENT_TESTS(several_in_work, 0, format_count) {
  const World world;
  Row gpu(upload + finder("async-depth=4"));
  gpu.set_format(gpu_formats[__i__]);
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
  assert_searched_on_gpu(gpu.finder(), count);
}

ELEMENT_TESTS(tracks, 0, format_count) {
  const World world;
  Row gpu(upload + finder("track=true tracker=template threshold=0.9 search-margin=12"));
  gpu.set_format(gpu_formats[__i__]);
  for (int i = 0; i < 10; ++i) {
    const Peak target = only(gpu.find(world.frame({{40 + 7 * i, 30 + 5 * i}})));
    assert_at(target, 40 + 7 * i, 30 + 5 * i);
    assert_equals_uint64(target.id, 1);
  }
  assert_searched_on_gpu(gpu.finder(), 10);
}

ELEMENT_TESTS(patch_of_a_frame_becomes_a_template, 0, format_count) {
  const World world;
  Row gpu(upload + "cudaxcorr name=finder backend=cuda subpixel=false enable-capture=true");
  gpu.set_format(gpu_formats[__i__]);
  gpu.push(world.frame({{70, 50}}));
  gst_buffer_unref(gpu.pull());
  guint id = 0;
  g_signal_emit_by_name(gpu.finder(), "capture-template", 70, 50, patch_size, patch_size, &id);
  fail_unless(id != 0);
  assert_at(only(gpu.find(world.frame({{201, 99}}))), 201, 99);
}

/// GStreamer downloads them for that.
ELEMENT_TEST(cpu_backend_takes_them_too) {
  const World world;
  Row row(upload + "cudaxcorr name=finder backend=cpu subpixel=false template=" + world.file);
  row.set_format(GST_VIDEO_FORMAT_I420);
  assert_at(only(row.find(world.frame({{70, 50}}))), 70, 50);
  fail_unless(has_gpu_caps(row.finder()));
  assert_equals_uint64(stat_of(row.finder(), "in-gpu-memory"), 0);
}

bool can_decode() {
  for (const char* name : {"x264enc", "h264parse", "nvh264dec"})
    if (!gst_element_factory_find(name)) {
      std::printf("not checked: there is no %s\n", name);
      return false;
    }
  return true;
}

ELEMENT_TEST(behind_a_decoder) {
  if (!can_decode()) return;
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
  assert_searched_on_gpu(row.finder(), 20);
}

/// Nothing in the launch line asks for GPU memory, yet all frames are in it.
ELEMENT_TEST(between_decoder_and_fakesink) {
  if (!can_decode()) return;
  const std::string launch =
      "videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=320,height=240 ! "
      "x264enc tune=zerolatency ! h264parse ! nvh264dec ! " +
      finder("threshold=1") + " ! fakesink";
  GstElement* pipeline = gst_parse_launch(launch.c_str(), nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS);
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), "finder");
  assert_searched_on_gpu(element, 30);
  gst_object_unref(element);
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

const Registered before_all([](TCase*) { skip_without_uploads(); });

}  // namespace
