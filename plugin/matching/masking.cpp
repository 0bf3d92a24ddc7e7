// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/masking.h"

#include <algorithm>

#include "matching/luma_image.h"
#include "matching/picture_size.h"

namespace cudaxcorr {

Mask read_mask(const Picture& picture, Mask (*pixels)(const MappedFrame&), std::string& reason) {
  const MappedFrame mapped(picture.info(), gst_sample_get_buffer(picture.sample.get()),
                           GST_MAP_READ);
  if (mapped) return pixels(mapped);
  reason = mapped.fault();
  return {};
}

namespace {

std::string name_of(const Masking& masking) {
  if (masking.file) return "the mask file '" + masking.file->file + "'";
  if (masking.kind == MaskKind::alpha) return "its alpha";
  return "a disc with a 'mask-inset' of " + std::to_string(masking.inset);
}

Mask make_mask(const Picture& picture, const Masking& masking, std::string& reason) {
  if (masking.file) {
    const xcorr::Size size = picture.size(), size_of_mask = masking.file->size();
    if (size == size_of_mask) return read_mask(*masking.file, bright_pixels, reason);
    reason = name_of(masking) + " has " + text_of(size_of_mask) + " pixels, the template " +
             text_of(size);
    return {};
  }
  switch (masking.kind) {
    case MaskKind::none:
      return {};
    case MaskKind::alpha:
      return read_mask(picture, opaque_pixels, reason);
    case MaskKind::disc:
      return disc(picture.size(), masking.inset);
  }
  return {};
}

/// Whether the mask takes all contrast away.
bool flattens(const Picture& masked) {
  const GstVideoInfo picture = masked.info();
  GstVideoInfo gray;
  const bool deep = GST_VIDEO_INFO_COMP_DEPTH(&picture, 0) > 8;
  gst_video_info_set_format(&gray, deep ? GST_VIDEO_FORMAT_GRAY16_LE : GST_VIDEO_FORMAT_GRAY8, 1,
                            1);
  auto image = luma_in(gray, masked);
  if (!image || !image->is_flat()) return false;
  image->mask.clear();
  return !image->is_flat();
}

/// Null with the reason.
SharedPicture masked(const Picture& picture, const Masking& masking, xcorr::Method method,
                     std::string& reason) {
  auto changed = std::make_shared<Picture>(picture);
  changed->masking = masking;
  Mask& mask = changed->mask = make_mask(picture, masking, reason);
  if (!reason.empty()) return nullptr;
  const auto counted = std::ranges::count(mask, 1);
  if (counted == std::ssize(mask)) {
    mask.clear();
    return changed;
  }
  if (counted == 0) {
    reason = name_of(masking) + " leaves no pixel of it";
  } else if (xcorr::info(method).centred && flattens(*changed)) {
    reason = name_of(masking) + " leaves a flat part of it, without contrast that the method '" +
             xcorr::info(method).name + "' could match; 'sqdiff-normed' compares brightness";
  }
  return reason.empty() ? changed : nullptr;
}

}  // namespace

bool mask_templates(Bank& bank, const MaskSettings& settings, xcorr::Method method, Fault& fault) {
  bank.mask = settings;
  const Masking masking{settings.kind, settings.inset,
                        bank.mask_file.empty() ? nullptr : bank.mask_file.front()};
  for (const auto list : Bank::lists)
    for (SharedPicture& picture : bank.*list) {
      if (picture->masking == masking) continue;
      std::string reason;
      SharedPicture changed = masked(*picture, masking, method, reason);
      if (!changed) {
        fault = {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                 "Cannot mask the template '" + picture->name() + "': " + reason};
        return false;
      }
      picture = std::move(changed);
    }
  return true;
}

}  // namespace cudaxcorr
