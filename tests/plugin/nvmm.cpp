// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in `memory:NVMM`, over a stand-in for NVIDIA's library: in every format and every memory
// that a host reads, with the same results as in system memory; and surfaces that cannot be read.
#include <span>

#include "nvmm_frames.hpp"
#include "synthetic_results.hpp"

namespace {

/// What a GPU does not read where it lies, and unified memory, which here is the host's alone.
std::span<const SurfaceMemory> host_memories() {
  static constexpr SurfaceMemory all[] = {SurfaceMemory::cuda_pinned, SurfaceMemory::system,
                                          SurfaceMemory::surface_array,
                                          SurfaceMemory::cuda_unified};
  return std::span(all).first(std::size(all) - (std::strcmp(backend(), "cuda") == 0 ? 1 : 0));
}
constexpr int format_count = std::size(nvmm_formats);

bool accepts(GstElement* element, const char* pad_name, const char* format) {
  GstPad* pad = gst_element_get_static_pad(element, pad_name);
  GstCaps* caps = nvmm_caps(format, 64, 64);
  const bool accepted = gst_pad_query_accept_caps(pad, caps);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  return accepted;
}

ELEMENT_TEST(pads_take_nvmm) {
  for (const char* factory : {"cudaxcorr", "cudaxcorrfield"}) {
    Finder element("", factory);
    for (const char* pad : {"sink", "src"}) {
      for (const GstVideoFormat format : nvmm_formats) {
        const char* name = gst_video_format_to_string(format);
        fail_unless(accepts(element.element, pad, name), "%s does not take %s", pad, name);
      }
      for (const char* name : {"YUY2", "NV21", "RGB"})
        fail_unless(!accepts(element.element, pad, name), "%s takes %s", pad, name);
    }
  }
}

ELEMENT_TESTS(results_are_those_of_system_memory, 0, format_count) {
  const World world;
  const Gray image = world.frame({{70, 50}, {200, 133}});
  const GstVideoFormat format = nvmm_formats[__i__];
  const std::string settings = "max-peaks=5 threshold=0.3 template=" + world.file;
  Finder system(settings);
  system.set_format(format, frame_width, frame_height);
  const Found expected = system.find(image);
  for (const SurfaceMemory memory : host_memories()) {
    Finder finder(settings);
    set_nvmm_format(finder, format);
    GstBuffer* out = finder.pass(buffer_of(surface_of(image, format, memory)));
    const Found found = found_in(out);
    gst_buffer_unref(out);
    fail_unless(found.analysed);
    assert_equals_int(found.peaks.size(), expected.peaks.size());
    for (std::size_t i = 0; i < found.peaks.size(); ++i) {
      assert_at(found.peaks[i], expected.peaks[i].x, expected.peaks[i].y);
      assert_equals_float(found.peaks[i].score, expected.peaks[i].score);
    }
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  }
}

ELEMENT_TEST(colour_is_that_of_the_surface) {
  const int width = 131, height = 77;
  const Gray planes[] = {texture(width, height, 1), texture(width, height, 2),
                         texture(width, height, 3)};
  const auto part = [&](int i) { return crop(planes[i], 33, 18, 14, 13); };
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_BGRx})
    for (const SurfaceMemory memory : host_memories()) {
      Finder finder("match-on=color subpixel=false template=" +
                    save(part(0), part(1), part(2), "colours.png"));
      set_nvmm_format(finder, format, width, height);
      GstBuffer* frame = make_frame(format, planes[0], planes[1], planes[2]);
      const Found found =
          finder.find(buffer_of(make_surface(frame, format, width, height, memory)));
      assert_at(found.peaks.at(0), 33, 18);
      fail_unless(found.peaks[0].score == 1, "score %.17g", found.peaks[0].score);
    }
}

/// What is sent leaves: the surface itself, as it was.
ELEMENT_TEST(frames_pass_unchanged) {
  const World world;
  Finder finder("template=" + world.file);
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12);
  const MadeSurface made =
      surface_of(world.frame({{70, 50}}), GST_VIDEO_FORMAT_NV12, SurfaceMemory::system);
  const std::vector<std::uint8_t> before(made->pixels, made->pixels + made->image.bytes);
  GstBuffer* out = finder.pass(buffer_of(made));
  GstMapInfo map;
  fail_unless(gst_buffer_map(out, &map, GST_MAP_READ));
  fail_unless(map.data == reinterpret_cast<guint8*>(&made->surface));
  gst_buffer_unmap(out, &map);
  gst_buffer_unref(out);
  fail_unless(std::equal(before.begin(), before.end(), made->pixels));
}

/// A decoder's surfaces are larger than the image, which a GstVideoCropMeta may place.
ELEMENT_TEST(image_is_part_of_the_surface) {
  const World world;
  const int width = 200, height = 120;
  for (const SurfaceMemory memory : host_memories()) {
    Finder finder("subpixel=false template=" + world.file);
    set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12, width, height);
    const MadeSurface made = surface_of(world.frame({{70, 50}}), GST_VIDEO_FORMAT_NV12, memory);
    assert_at(only(finder.find(buffer_of(made))), 70, 50);
    GstBuffer* cropped = buffer_of(made);
    GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(cropped);
    crop->x = 30;
    crop->y = 20;
    crop->width = width;
    crop->height = height;
    assert_at(only(finder.find(cropped)), 40, 30);
  }
}

/// All of them have the same mapping, which ends with the last.
ELEMENT_TEST(one_surface_in_several_frames) {
  const World world;
  const MadeSurface made =
      surface_of(world.frame({{70, 50}}), GST_VIDEO_FORMAT_NV12, SurfaceMemory::surface_array);
  Finder finder("async-depth=3 subpixel=false template=" + world.file);
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12);
  for (int i = 0; i < 3; ++i)
    assert_equals_int(gst_harness_push(finder.harness, buffer_of(made)), GST_FLOW_OK);
  gst_harness_push_event(finder.harness, gst_event_new_eos());
  for (int i = 0; i < 3; ++i) {
    GstBuffer* out = gst_harness_pull(finder.harness);
    assert_at(only(found_in(out)), 70, 50);
    gst_buffer_unref(out);
  }
  assert_equals_int(made->hardware.mapped, 1);
  assert_equals_int(made->hardware.open, 0);
}

ELEMENT_TEST(patch_of_a_frame_becomes_a_template) {
  const World world;
  Finder finder("subpixel=false enable-capture=true");
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12);
  const auto frame = [&](Place place) {
    return buffer_of(
        surface_of(world.frame({place}), GST_VIDEO_FORMAT_NV12, SurfaceMemory::surface_array));
  };
  gst_buffer_unref(finder.pass(frame({70, 50})));
  fail_unless(capture(finder, 70, 50, patch_size, patch_size) > 0);
  assert_at(only(finder.find(frame({201, 99}))), 201, 99);
}

ELEMENT_TEST(fields_are_measured) {
  for (const SurfaceMemory memory : host_memories())
    for (const char* reference : {"previous", "first"}) {
      const auto surface = [&](const Gray& image) {
        return surface_of(image, GST_VIDEO_FORMAT_GRAY8, memory);
      };
      assert_equals_uint64(measure_motion(reference, GST_VIDEO_FORMAT_GRAY8, surface), 0);
    }
}

/// Nothing is drawn into what only refers to pixels; marks go along.
ELEMENT_TEST(overlay_leaves_surfaces_alone) {
  GstHarness* harness = gst_harness_new("xcorroverlay");
  gst_harness_set_src_caps(harness, nvmm_caps("BGRx", frame_width, frame_height));
  const MadeSurface made = surface_of(Gray(frame_width, frame_height, 100), GST_VIDEO_FORMAT_BGRx,
                                      SurfaceMemory::system);
  const Surface before = made->surface;
  const std::vector<std::uint8_t> pixels(made->pixels, made->pixels + made->image.bytes);
  GstBuffer* buffer = buffer_of(made);
  attach_result(buffer, frame_width, frame_height, {{60, 50, 30, 20}});
  GstBuffer* out = gst_harness_push_and_pull(harness, buffer);
  fail_unless(out != nullptr);
  fail_unless(gst_buffer_get_video_overlay_composition_meta(out) != nullptr);
  gst_buffer_unref(out);
  fail_unless(std::memcmp(&before, &made->surface, sizeof before) == 0);
  fail_unless(std::equal(pixels.begin(), pixels.end(), made->pixels));
  gst_harness_teardown(harness);
}

// ---- what cannot be read
// -------------------------------------------------------------------------

struct Fault {
  const char* text;
  SurfaceMemory memory;
  void (*spoil)(Made&);
};

constexpr Fault faults[] = {
    {"it holds no NvBufSurface", SurfaceMemory::system,
     [](Made& made) { made.surface.images = nullptr; }},
    {"it is a batch of several surfaces", SurfaceMemory::system,
     [](Made& made) { made.surface.filled = 2; }},
    {"its surface is of another format than its caps", SurfaceMemory::system,
     [](Made& made) { made.image.color_format = 19; }},
    {"its surface is of another format than its caps", SurfaceMemory::system,
     [](Made& made) { made.image.color_format = 999; }},
    {"its surface is smaller than its caps", SurfaceMemory::system,
     [](Made& made) { --made.image.width; }},
    {"its surface is block-linear", SurfaceMemory::system,
     [](Made& made) { made.image.layout = SurfaceLayout::block_linear; }},
    {"its surface is block-linear", SurfaceMemory::surface_array,
     [](Made& made) { made.image.layout = SurfaceLayout::block_linear; }},
    {"its surface is in memory of another kind", SurfaceMemory{5}, [](Made&) {}},
    {"its surface says more than it holds", SurfaceMemory::system,
     [](Made& made) { made.image.bytes -= 100; }},
    {"its surface says more than it holds", SurfaceMemory::system,
     [](Made& made) { made.image.planes.offset[1] = made.image.bytes; }},
    {"its surface says more than it holds", SurfaceMemory::system,
     [](Made& made) { made.image.planes.pitch[0] = frame_width - 1; }},
    {"its surface says more than it holds", SurfaceMemory::system,
     [](Made& made) { made.image.data = nullptr; }},
    {"its surface says more than it holds", SurfaceMemory::surface_array,
     [](Made& made) { made.image.planes.bytes[0] -= 100; }},
    {"its surface cannot be mapped", SurfaceMemory::surface_array,
     [](Made& made) { made.hardware.maps = false; }},
    {"its surface cannot be copied from the GPU", SurfaceMemory::cuda_device,
     [](Made& made) { made.surface.gpu = 0xffffffff; }},
};

/// One warning, and the next frame is analysed.
ELEMENT_TESTS(surface_that_cannot_be_read, 0, std::size(faults)) {
  const World world;
  const auto& [text, memory, spoil] = faults[__i__];
  Finder finder("subpixel=false template=" + world.file);
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12);
  const Gray image = world.frame({{70, 50}});
  const MadeSurface made = surface_of(image, GST_VIDEO_FORMAT_NV12, memory);
  spoil(*made);
  assert_not_taken(finder, made, text);
  assert_at(
      only(finder.find(buffer_of(surface_of(image, GST_VIDEO_FORMAT_NV12, SurfaceMemory::system)))),
      70, 50);
}

ELEMENT_TEST(buffer_without_a_surface) {
  Finder finder("template=" + World().file);
  set_nvmm_format(finder, GST_VIDEO_FORMAT_NV12);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, sizeof(Surface) - 1, nullptr);
  gst_buffer_memset(buffer, 0, 0xff, sizeof(Surface) - 1);
  fail_unless(!finder.find(buffer).analysed);
  assert_warned(finder, "it holds no NvBufSurface", GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
}

ELEMENT_TEST(surfaces_are_no_templates) {
  const World world;
  Finder finder("");
  GstBuffer* buffer =
      buffer_of(surface_of(world.patch, GST_VIDEO_FORMAT_GRAY8, SurfaceMemory::system));
  GstCaps* caps = nvmm_caps("GRAY8", patch_size, patch_size);
  const Sample sample(gst_sample_new(buffer, caps, nullptr, nullptr), gst_sample_unref);
  gst_buffer_unref(buffer);
  gst_caps_unref(caps);
  assert_equals_int(add(finder, sample), 0);
  assert_warned(finder, "its caps are of memory:NVMM");
}

}  // namespace
