// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template set's templates as matchers take them: luma of the frames' format and, where they
// adapt to what is found, live templates on the device that start from it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "matching/live_templates.h"
#include "matching/luma_image.h"
#include "matching/templates.h"

namespace cudaxcorr {

using Images = std::shared_ptr<const std::vector<LumaImage>>;

/// What is loaded of templates.
struct TemplateForm {
  bool live = false;      ///< they adapt to what is found
  bool in_color = false;  ///< with their colour
  /// With masks of weights, where they have any; else a pixel counts whose weight is at least half.
  bool weighted = false;

  bool operator==(const TemplateForm&) const = default;
};

struct LoadedTemplates {
  std::shared_ptr<const TemplateSet> template_set;  ///< null: to be loaded anew
  Images images = std::make_shared<std::vector<LumaImage>>();
  LiveTemplates live{};                 ///< of the images
  std::vector<std::uint32_t> things{};  ///< see things_of()
  TemplateForm form{};

  bool are_live() const { return !live.empty() && live.front(); }
};

/// Images that are unchanged since `before` keep their live templates. Errors name the template, or
/// all of them: invalid_argument if one cannot be converted to that format; device_error.
xcorr::Result<LoadedTemplates> load_bank(std::shared_ptr<const TemplateSet> template_set,
                                         const GstVideoInfo& format, const xcorr::Device& device,
                                         const TemplateForm& form, const LoadedTemplates& before);

/// An error that has to do with all templates of a template set, with their names.
xcorr::Status with_names_of(const TemplateSet& template_set, const xcorr::Status& error);

}  // namespace cudaxcorr
