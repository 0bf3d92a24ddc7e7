// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of `memory:NVMM`: frames as surfaces of any kind of memory.
#pragma once

#include <cstring>
#include <functional>
#include <memory>

#include "fields.hpp"
#include "live_templates.hpp"
#include "nvmm/stand_in.hpp"

#include <nvmm/color_formats.h>

using cudaxcorr::nvmm::SurfaceLayout;
using cudaxcorr::nvmm::SurfaceMemory;

/// Where pixels of surfaces are.
struct PixelMemory {
  std::function<std::uint8_t*(std::size_t)> allocate;
  std::function<void(std::uint8_t*)> release;
  std::function<void(std::uint8_t* to, const std::uint8_t* from, std::size_t)> write;
};

inline PixelMemory host_memory() {
  return {[](std::size_t bytes) { return static_cast<std::uint8_t*>(g_malloc(bytes)); },
          [](std::uint8_t* pixels) { g_free(pixels); },
          [](std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
            std::memcpy(to, from, bytes);
          }};
}

/// What a test may do to a surface before it is sent.
struct Made {
  Surface surface{};
  SurfaceImage image{};
  Hardware hardware{};
  PixelMemory memory;
  std::uint8_t* pixels = nullptr;

  explicit Made(PixelMemory of) : memory(std::move(of)) {}
  Made(const Made&) = delete;
  ~Made() {
    g_assert_cmpint(hardware.open, ==, 0);  // else a frame has left while it was mapped
    memory.release(pixels);
  }
};
using MadeSurface = std::shared_ptr<Made>;

/// The frame's planes in rows that are longer than they need be, as in NVIDIA's memory.
inline MadeSurface make_surface(GstBuffer* frame, GstVideoFormat format, int width, int height,
                                SurfaceMemory memory, const PixelMemory& pixels = host_memory()) {
  constexpr std::uint32_t padding = 64;
  auto made = std::make_shared<Made>(pixels);
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, static_cast<guint>(width), static_cast<guint>(height));
  GstVideoFrame mapped;
  fail_unless(gst_video_frame_map(&mapped, &info, frame, GST_MAP_READ));
  auto& planes = made->image.planes;
  planes.count = GST_VIDEO_FRAME_N_PLANES(&mapped);
  std::vector<std::uint8_t> bytes;
  std::uint32_t end = 0;
  for (guint i = 0; i < planes.count; ++i) {
    const auto stride = static_cast<std::uint32_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, i));
    const int shift = i > 0 ? info.finfo->h_sub[1] : 0;
    const auto rows = static_cast<std::uint32_t>((height + (1 << shift) - 1) >> shift);
    planes.pitch[i] = stride + padding;
    planes.offset[i] = end;
    planes.bytes[i] = planes.pitch[i] * rows;
    planes.height[i] = rows;
    end += planes.bytes[i];
    bytes.resize(end, 0x5a);
    for (std::uint32_t row = 0; row < rows; ++row)
      std::memcpy(bytes.data() + planes.offset[i] + row * planes.pitch[i],
                  static_cast<std::uint8_t*>(mapped.data[i]) + row * stride, stride);
  }
  gst_video_frame_unmap(&mapped);
  gst_buffer_unref(frame);
  made->pixels = pixels.allocate(end);
  pixels.write(made->pixels, bytes.data(), end);
  for (guint i = 0; i < planes.count; ++i)
    made->hardware.planes.push_back(
        {made->pixels + planes.offset[i], planes.pitch[i], planes.bytes[i]});
  made->image.width = static_cast<std::uint32_t>(width);
  made->image.height = static_cast<std::uint32_t>(height);
  made->image.pitch = planes.pitch[0];
  made->image.bytes = end;
  for (const auto& row : cudaxcorr::nvmm::color_formats)
    if (row.format == format) made->image.color_format = row.number;
  made->image.descriptor = reinterpret_cast<std::uint64_t>(&made->hardware);
  if (memory != SurfaceMemory::surface_array) made->image.data = made->pixels;
  made->surface = {0, 1, 1, true, memory, &made->image};
  return made;
}

/// A buffer that refers to the surface, and keeps it.
inline GstBuffer* buffer_of(const MadeSurface& made) {
  auto* const kept = new MadeSurface(made);
  return gst_buffer_new_wrapped_full(static_cast<GstMemoryFlags>(0), &made->surface,
                                     sizeof(Surface), 0, sizeof(Surface), kept,
                                     [](gpointer data) { delete static_cast<MadeSurface*>(data); });
}

inline GstCaps* nvmm_caps(const char* format, int width, int height) {
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width",
                                      G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate",
                                      GST_TYPE_FRACTION, 25, 1, nullptr);
  gst_caps_set_features(caps, 0, gst_caps_features_new("memory:NVMM", nullptr));
  return caps;
}

inline void set_nvmm_format(Finder& finder, GstVideoFormat format, int width = frame_width,
                            int height = frame_height) {
  gst_harness_set_src_caps(finder.harness,
                           nvmm_caps(gst_video_format_to_string(format), width, height));
}

/// The image as a surface.
inline MadeSurface surface_of(const Gray& image, GstVideoFormat format, SurfaceMemory memory,
                              const PixelMemory& pixels = host_memory()) {
  return make_surface(make_frame(format, image), format, image.width, image.height, memory, pixels);
}

inline void assert_not_taken(Finder& finder, const MadeSurface& made, const std::string& fault) {
  fail_unless(!finder.find(buffer_of(made)).analysed);
  assert_warned(finder, "A frame passes unanalysed: " + fault, GST_STREAM_ERROR,
                GST_STREAM_ERROR_FORMAT);
}

/// A field of two frames as such surfaces. Returns how many were read in a GPU's memory.
inline guint64 measure_motion(const char* reference, GstVideoFormat format,
                              const std::function<MadeSurface(const Gray&)>& surface) {
  Finder finder(std::string("windows=\"<32>\" reference=") + reference, "cudaxcorrfield");
  set_nvmm_format(finder, format, field_width, field_height);
  const auto pass = [&](int x, int y) {
    GstBuffer* out = finder.pass(buffer_of(surface(view_at(x, y))));
    const Field field = field_in(out);
    gst_buffer_unref(out);
    return field;
  };
  assert_text(pass(0, 0).state, "reference");
  const Field field = pass(3, -2);
  assert_text(field.state, "measured");
  fail_unless(std::abs(field.median_x + 3) < 0.1 && std::abs(field.median_y - 2) < 0.1,
              "median %f %f", field.median_x, field.median_y);
  return stat_of(finder.element, "in-gpu-memory");
}

constexpr GstVideoFormat nvmm_formats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420,
                                           GST_VIDEO_FORMAT_NV12,  GST_VIDEO_FORMAT_RGBA,
                                           GST_VIDEO_FORMAT_BGRx,  GST_VIDEO_FORMAT_P010_10LE};
