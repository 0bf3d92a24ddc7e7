// SPDX-License-Identifier: LGPL-2.1-or-later
#include "templates.h"

#include "frame.h"

namespace cudaxcorr {
namespace {

std::string label_of(const std::string& file) {
  gchar* base = g_path_get_basename(file.c_str());
  const std::string name = base;
  g_free(base);
  const auto dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

std::shared_ptr<const Picture> load_one(const std::string& file, Fault& fault) {
  std::string reason;
  Sample sample = decode(file, reason);
  if (!sample) {
    fault = {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
             "Cannot read the template file '" + file + "': " + reason};
    return nullptr;
  }
  auto picture = std::make_shared<Picture>();
  picture->file = file;
  picture->label = label_of(file);
  picture->sample = std::move(sample);
  return picture;
}

class MappedFrame {
 public:
  MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags)
      : mapped_(gst_video_frame_map(&frame, &info, buffer, flags)) {}
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame);
  }
  MappedFrame(const MappedFrame&) = delete;
  explicit operator bool() const { return mapped_; }

  GstVideoFrame frame;

 private:
  bool mapped_;
};

/// The pipeline's format at the picture's size.
GstVideoInfo converted_info(const GstVideoInfo& format, const GstVideoInfo& picture) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_INFO_FORMAT(&format), picture.width, picture.height);
  info.colorimetry = format.colorimetry;
  info.chroma_site = format.chroma_site;
  info.fps_n = picture.fps_n;  // the converter refuses to change the rate
  info.fps_d = picture.fps_d;
  return info;
}

bool convert(const MappedFrame& from, MappedFrame& to) {
  GstVideoConverter* converter = gst_video_converter_new(&from.frame.info, &to.frame.info, nullptr);
  if (!converter) return false;
  gst_video_converter_frame(converter, &from.frame, &to.frame);
  gst_video_converter_free(converter);
  return true;
}

LumaImage copy(const xcorr::MatrixView& view) {
  LumaImage image{view.size, {}};
  const auto* row = static_cast<const std::uint8_t*>(view.data);
  for (int y = 0; y < view.size.height; ++y, row += view.pitch)
    image.pixels.insert(image.pixels.end(), row, row + view.size.width);
  return image;
}

}  // namespace

std::optional<Pictures> load(const std::vector<std::string>& files, Fault& fault) {
  Pictures pictures;
  for (const std::string& file : files) {
    auto picture = load_one(file, fault);
    if (!picture) return std::nullopt;
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, gst_sample_get_caps(picture.sample.get())))
    return std::nullopt;
  const GstVideoInfo wanted = converted_info(format, info);
  const MappedFrame decoded(info, gst_sample_get_buffer(picture.sample.get()), GST_MAP_READ);
  if (!decoded) return std::nullopt;

  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, wanted.size, nullptr);
  std::optional<LumaImage> image;
  {
    MappedFrame converted(wanted, buffer, GST_MAP_READWRITE);
    Luma luma;
    if (converted && convert(decoded, converted)) image = copy(luma.view(converted.frame));
  }
  gst_buffer_unref(buffer);
  return image;
}

}  // namespace cudaxcorr
