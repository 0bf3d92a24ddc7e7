// SPDX-License-Identifier: LGPL-2.1-or-later
#include "scene.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

namespace bench {
namespace {

constexpr int reach = 128;  ///< how far the background scrolls

/// Noise with some likeness of neighbours, as images have.
std::vector<std::uint8_t> texture(int width, int height, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::uint8_t> pixels(std::size_t(width) * height);
  int left = 128;
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(left = (left + random() % 256) / 2);
  return pixels;
}

/// One colour matrix whatever the size, so that no pixel of the patch is converted.
GstVideoInfo info_of(int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, width, height);
  gst_video_colorimetry_from_string(&info.colorimetry, "bt709");
  return info;
}

struct Luma {
  const std::uint8_t* pixels;
  int pitch;
};

void paste(GstVideoFrame& onto, Luma from, xcorr::Rect to) {
  auto* luma = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&onto, 0));
  const std::ptrdiff_t stride = GST_VIDEO_FRAME_PLANE_STRIDE(&onto, 0);
  for (int y = 0; y < to.height; ++y)
    std::memcpy(luma + (to.y + y) * stride + to.x, from.pixels + std::ptrdiff_t{y} * from.pitch,
                static_cast<std::size_t>(to.width));
}

void make_gray(GstVideoFrame& frame) {
  std::memset(GST_VIDEO_FRAME_PLANE_DATA(&frame, 1), 128,
              std::size_t(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 1)) *
                  GST_VIDEO_FRAME_COMP_HEIGHT(&frame, 1));
}

}  // namespace

Scene::Scene(xcorr::Size size, int patch_side, unsigned patch_number)
    : info_(info_of(size.width, size.height)),
      side_(patch_side),
      texture_width_(size.width + reach),
      texture_(texture(texture_width_, size.height + reach, 1)),
      patch_(texture(patch_side, patch_side, patch_number)) {}

GstCaps* Scene::caps(int rate) const {
  GstVideoInfo info = info_;
  GST_VIDEO_INFO_FPS_N(&info) = rate;
  GST_VIDEO_INFO_FPS_D(&info) = 1;
  return gst_video_info_to_caps(&info);
}

void Scene::draw(int frame, GstBuffer* buffer) const {
  GstVideoFrame mapped;
  GstVideoInfo info = info_;
  if (!gst_video_frame_map(&mapped, &info, buffer, GST_MAP_WRITE)) return;
  const int dx = 7 * frame % reach, dy = 5 * frame % reach;
  paste(mapped, {texture_.data() + std::ptrdiff_t{dy} * texture_width_ + dx, texture_width_},
        {0, 0, info.width, info.height});
  const auto [x, y] = place(frame);
  paste(mapped, {patch_.data(), side_}, {x, y, side_, side_});
  make_gray(mapped);
  gst_video_frame_unmap(&mapped);
}

Scene::Place Scene::place(int frame) const {
  const double angle = 2 * std::numbers::pi * frame / distinct;
  const auto at = [&](int length, double part) {
    return static_cast<int>(std::lround((length - side_) * (0.5 + 0.2 * part)));
  };
  return {at(info_.width, std::cos(angle)), at(info_.height, std::sin(angle))};
}

GstSample* Scene::patch() const {
  GstVideoInfo info = info_of(side_, side_);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  GstVideoFrame mapped;
  if (gst_video_frame_map(&mapped, &info, buffer, GST_MAP_WRITE)) {
    paste(mapped, {patch_.data(), side_}, {0, 0, side_, side_});
    make_gray(mapped);
    gst_video_frame_unmap(&mapped);
  }
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstSample* sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

}  // namespace bench
