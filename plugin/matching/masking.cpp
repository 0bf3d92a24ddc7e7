// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/masking.h"

#include <algorithm>
#include <functional>

#include "matching/image_size.h"
#include "matching/luma_image.h"

namespace cudaxcorr {

Mask read_mask(const LoadedImage& image, Mask (*pixels)(const MappedFrame&), std::string& reason) {
  const MappedFrame mapped(image.info(), gst_sample_get_buffer(image.sample.get()), GST_MAP_READ);
  if (mapped) return pixels(mapped);
  reason = mapped.fault();
  return {};
}

namespace {

std::string name_of(const Masking& masking) {
  if (masking.file) return "the mask file '" + masking.file->file + "'";
  if (masking.kind != MaskKind::disc) return "its alpha";
  return "a disc with a 'mask-inset' of " + std::to_string(masking.inset);
}

Mask make_mask(const LoadedImage& image, const Masking& masking, std::string& reason) {
  if (masking.file) {
    const xcorr::Size size = image.size(), size_of_mask = masking.file->size();
    const bool weighs = masking.kind == MaskKind::weights;
    if (size == size_of_mask)
      return read_mask(*masking.file, weighs ? bright_weights : bright_pixels, reason);
    reason = name_of(masking) + " has " + text_of(size_of_mask) + " pixels, the template " +
             text_of(size);
    return {};
  }
  switch (masking.kind) {
    case MaskKind::none:
      return {};
    case MaskKind::alpha:
      return read_mask(image, opaque_pixels, reason);
    case MaskKind::weights:
      return read_mask(image, alpha_weights, reason);
    case MaskKind::disc:
      return disc(image.size(), masking.inset);
  }
  return {};
}

/// Whether the mask takes all contrast away.
bool flattens(const LoadedImage& masked) {
  const GstVideoInfo image = masked.info();
  GstVideoInfo gray;
  const bool deep = GST_VIDEO_INFO_COMP_DEPTH(&image, 0) > 8;
  gst_video_info_set_format(&gray, deep ? GST_VIDEO_FORMAT_GRAY16_LE : GST_VIDEO_FORMAT_GRAY8, 1,
                            1);
  auto luma = luma_in(gray, masked);
  if (!luma || !luma->is_flat()) return false;
  luma->mask.clear();
  return !luma->is_flat();
}

/// Null with the reason.
SharedImage masked(const LoadedImage& image, const Masking& masking,
                   const xcorr::MatchSettings& match, std::string& reason) {
  auto changed = std::make_shared<LoadedImage>(image);
  changed->masking = masking;
  Mask& mask = changed->mask = make_mask(image, masking, reason);
  if (!reason.empty()) return nullptr;
  const bool alike = std::ranges::adjacent_find(mask, std::not_equal_to()) == mask.end();
  if (alike && (mask.empty() || mask.front() != 0)) {
    mask.clear();
    return changed;
  }
  if (alike) {
    reason = name_of(masking) + " leaves no pixel of it";
    if (!masking.file && masking.kind != MaskKind::disc)
      reason += ": it is transparent everywhere, with mask=none all of it counts";
  } else if (!xcorr::is_on_edges(match.match_on) && xcorr::info(match.method).centred &&
             flattens(*changed)) {
    reason =
        name_of(masking) + " leaves a flat part of it, without contrast that the method '" +
        xcorr::info(match.method).name +
        "' could match; 'sqdiff-normed' compares brightness, 'match-on=edges' a mask's outline";
  }
  return reason.empty() ? changed : nullptr;
}

}  // namespace

bool mask_templates(TemplateSet& template_set, const MaskSettings& settings,
                    const xcorr::MatchSettings& match, std::vector<Fault>& left_out, Fault& fault) {
  template_set.mask = settings;
  const Masking masking{settings.kind, settings.inset,
                        template_set.mask_file.empty() ? nullptr : template_set.mask_file.front()};
  for (const auto list : TemplateSet::lists)
    for (SharedImage& image : template_set.*list) {
      if (image->masking == masking) continue;
      std::string reason;
      SharedImage changed = masked(*image, masking, match, reason);
      if (!changed) {
        fault = {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                 "Cannot mask the template '" + image->name() + "': " + reason};
        if (list != &TemplateSet::of_folder) return false;
        left_out.push_back(fault);
      }
      image = std::move(changed);
    }
  std::erase(template_set.of_folder, nullptr);
  return true;
}

}  // namespace cudaxcorr
