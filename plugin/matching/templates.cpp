// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/templates.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "common/mapped_frame.h"
#include "common/new_buffer.h"
#include "common/utf8.h"
#include "matching/decode.h"
#include "matching/image_size.h"
#include "nvmm/lend.h"

namespace cudaxcorr {
namespace {

std::string label_of(const std::string& file) {
  gchar* base = g_path_get_basename(file.c_str());
  const std::string name = base;
  g_free(base);
  const auto dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

/// Names of files, from which labels are made, may be any bytes.
SharedImage make_image(LoadedImage image) {
  const std::string label = valid_utf8(image.label);
  // Several names may become one.
  image.is_labelled = image.is_labelled && label == image.label;
  image.label = label;
  return std::make_shared<const LoadedImage>(std::move(image));
}

/// Why raw video of these caps cannot be a template, or empty.
std::string unusable(GstCaps* caps, unsigned max_pixels) {
  GstVideoInfo info;
  if (!caps || !gst_caps_is_fixed(caps) || !gst_video_info_from_caps(&info, caps) ||
      GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_ENCODED || info.width < 1 || info.height < 1)
    return "its caps are not those of raw video";
  if (nvmm::is_in_nvmm(caps)) return "its caps are of memory:NVMM";
  if (GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    return "it is one field of an interlaced image";
  return excess_of(info.width, info.height, max_pixels);
}

/// The frame in memory of its own; null if there is none.
GstBuffer* copy_of(GstBuffer* buffer) {
  const gsize size = gst_buffer_get_size(buffer);
  GstBuffer* copied = new_buffer(size);
  GstMapInfo map;
  if (!copied || !gst_buffer_map(copied, &map, GST_MAP_WRITE)) return copied;
  gst_buffer_extract(buffer, 0, map.data, size);
  gst_buffer_unmap(copied, &map);
  if (GstVideoMeta* meta = gst_buffer_get_video_meta(buffer))
    gst_buffer_add_video_meta_full(copied, meta->flags, meta->format, meta->width, meta->height,
                                   meta->n_planes, meta->offset, meta->stride);
  if (const GstVideoCropMeta* from = gst_buffer_get_video_crop_meta(buffer)) {
    GstVideoCropMeta* to = gst_buffer_add_video_crop_meta(copied);
    to->x = from->x;
    to->y = from->y;
    to->width = from->width;
    to->height = from->height;
  }
  return copied;
}

}  // namespace

GstVideoInfo LoadedImage::info() const {
  GstVideoInfo info;
  gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get()));
  info.interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  return info;
}

xcorr::Size LoadedImage::size() const {
  const GstVideoInfo format = info();
  return {format.width, format.height};
}

std::string LoadedImage::sample_name() const {
  return file.empty() ? label : valid_utf8(label_of(file));
}

std::size_t TemplateSet::size() const {
  std::size_t count = 0;
  for (const auto list : lists) count += (this->*list).size();
  return count;
}

const LoadedImage& TemplateSet::operator[](std::size_t index) const {
  auto list = std::begin(lists);
  for (; index >= (this->**list).size(); ++list) index -= (this->**list).size();
  return *(this->**list)[index];
}

std::vector<std::uint32_t> things_of(const TemplateSet& template_set) {
  std::map<std::string, std::uint32_t> by_label;
  std::vector<std::uint32_t> things;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < template_set.size(); ++i) {
    const LoadedImage& image = template_set[i];
    const bool is_new = !image.is_labelled || by_label.try_emplace(image.label, count).second;
    things.push_back(is_new ? count++ : by_label[image.label]);
  }
  return things;
}

TemplateSettings settings_of(const TemplateSet& template_set) {
  TemplateSettings settings;
  if (!template_set.single.empty()) settings.file = template_set.single.front()->file;
  for (const auto& image : template_set.several) settings.files.push_back(image->file);
  if (!template_set.sampled.empty()) settings.sample = template_set.sampled.front()->sample;
  settings.folder = template_set.folder;
  settings.added = template_set.added;
  settings.mask = template_set.mask;
  return settings;
}

SharedImage read_image(const char* failure, const std::string& file, const std::string& label,
                       unsigned max_pixels, guint id, Fault& fault) {
  std::string reason;
  DecodedImage decoded = decode(file, max_pixels, reason);
  if (decoded) reason = unusable(gst_sample_get_caps(decoded.sample.get()), max_pixels);
  if (!reason.empty()) {
    fault = {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
             failure + (" '" + file) + "': " + reason};
    return nullptr;
  }
  LoadedImage image{id, file, label.empty() ? label_of(file) : label, std::move(decoded.sample)};
  image.of_video = decoded.of_video;
  return make_image(std::move(image));
}

SharedImage load_file(const std::string& file, const std::string& label, unsigned max_pixels,
                      guint id, Fault& fault) {
  return read_image("Cannot read the template file", file, label, max_pixels, id, fault);
}

SharedImage copy_sample(GstSample* sample, const std::string& label, unsigned max_pixels, guint id,
                        Fault& fault, const char* unlabelled) {
  const std::string name = label.empty() ? unlabelled : label;
  const auto refuse = [&](const std::string& reason) {
    fault = {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
             "Cannot use the sample of the template '" + name + "': " + reason};
    return nullptr;
  };
  GstBuffer* buffer = sample ? gst_sample_get_buffer(sample) : nullptr;
  GstCaps* caps = sample ? gst_sample_get_caps(sample) : nullptr;
  if (!buffer) return refuse("it has no buffer");
  if (const std::string reason = unusable(caps, max_pixels); !reason.empty()) return refuse(reason);
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps);
  const MappedFrame mapped(info, buffer, GST_MAP_READ);
  if (!mapped) return refuse(mapped.fault());
  const auto is_between = [](int place, int shift) { return place % (1 << shift) != 0; };
  if (is_between(mapped.visible.x, info.finfo->w_sub[1]) ||
      is_between(mapped.visible.y, info.finfo->h_sub[1]))
    return refuse("its GstVideoCropMeta begins between two pixels of the chroma");
  // The buffer may belong to a pool that waits for its return.
  GstBuffer* copied = copy_of(buffer);
  if (!copied) return refuse("there is no memory for its copy");
  Sample kept = take_sample(gst_sample_new(copied, caps, nullptr, nullptr));
  gst_buffer_unref(copied);
  LoadedImage image{id, "", name, std::move(kept)};
  image.is_labelled = !label.empty();
  return make_image(std::move(image));
}

bool load(TemplateSet& template_set, LoadedImages TemplateSet::*list,
          const TemplateSettings& settings, unsigned max_pixels, guint& last_id, Fault& fault) {
  LoadedImages images;
  const auto keep = [&](SharedImage image) {
    images.push_back(std::move(image));
    return images.back() != nullptr;
  };
  if (list == &TemplateSet::sampled) {
    if (settings.sample &&
        !keep(copy_sample(settings.sample.get(), "", max_pixels, ++last_id, fault)))
      return false;
  } else if (list == &TemplateSet::mask_file) {
    const std::string& file = settings.mask.file;
    if (!file.empty() &&
        !keep(read_image("Cannot read the mask file", file, "", max_pixels, 0, fault)))
      return false;
  } else {
    std::vector<std::string> files = settings.files;
    if (list == &TemplateSet::single) files.assign(settings.file.empty() ? 0 : 1, settings.file);
    for (const std::string& file : files)
      if (!keep(load_file(file, "", max_pixels, ++last_id, fault))) return false;
  }
  template_set.*list = std::move(images);
  return true;
}

}  // namespace cudaxcorr
