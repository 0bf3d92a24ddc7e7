// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates' images: files, samples, patches of frames. They are kept in their original
// format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include "common/fault.h"
#include "common/sample.h"
#include "matching/masks.h"
#include "matching/template_rules.h"

namespace cudaxcorr {

struct LoadedImage;
using SharedImage = std::shared_ptr<const LoadedImage>;
using LoadedImages = std::vector<SharedImage>;

/// What makes masks.
struct Masking {
  MaskKind kind;
  unsigned inset;    ///< of a disc
  SharedImage file;  ///< where there is one it decides alone

  bool operator==(const Masking&) const = default;
};

struct LoadedImage {
  guint id;           ///< from 1; never reused by the same element; 0: a mask's
  std::string file;   ///< empty: given as a sample
  std::string label;  ///< UTF-8; by default a file's base name without extension
  Sample sample;
  Mask mask{};
  std::optional<Masking> masking{};  ///< that has made the mask
  bool of_video = false;             ///< the first of several in the file
  bool is_labelled = true;           ///< false: nobody has chosen the label so
  TemplateRules rules{};             ///< of one of a folder
  std::string stamp{};               ///< of its file when it was read; of one of a folder

  const std::string& name() const { return file.empty() ? label : file; }
  /// Its name among the samples of one label, UTF-8: a file's without extension, else the label.
  std::string sample_name() const;
  /// Its format. The rows are in order, as a frame's.
  GstVideoInfo info() const;
  xcorr::Size size() const;
};

struct MaskSettings {
  MaskKind kind = MaskKind::alpha;  ///< `mask`
  unsigned inset = 0;               ///< `mask-inset`
  std::string file;                 ///< `mask-file`

  bool operator==(const MaskSettings&) const = default;
};

/// The templates that the application has set. Files are read when the element starts.
struct TemplateSettings {
  std::string file;                ///< `template`
  std::vector<std::string> files;  ///< `templates`
  Sample sample;                   ///< `template-sample`
  std::string folder;              ///< `templates-dir`
  LoadedImages added;              ///< by signals
  MaskSettings mask;
};

/// The templates in the order of their indices.
struct TemplateSet {
  LoadedImages single, several, sampled, of_folder, added;
  LoadedImages mask_file;  ///< none or one
  std::string folder;      ///< that `of_folder` is of
  MaskSettings mask;       ///< that the templates have been masked by

  static constexpr LoadedImages TemplateSet::*lists[] = {
      &TemplateSet::single, &TemplateSet::several, &TemplateSet::sampled, &TemplateSet::of_folder,
      &TemplateSet::added};
  std::size_t size() const;
  const LoadedImage& operator[](std::size_t index) const;
  /// Whether the images are the very same.
  bool operator==(const TemplateSet&) const = default;
};

/// For each template the number of what it shows, as of xcorr::keep_best_samples(): templates with
/// one label are samples of one thing.
std::vector<std::uint32_t> things_of(const TemplateSet& template_set);

/// The settings from which this template set would be loaded.
TemplateSettings settings_of(const TemplateSet& template_set);

/// Replaces one of the template set's lists, other than `of_folder` and `added`, by what the
/// settings name, not masked yet; new ids follow `last_id`. Blocks while files are decoded. If a
/// file cannot be read (RESOURCE/OPEN_READ) or a sample cannot be used (LIBRARY/SETTINGS), or an
/// image has more pixels, sets `fault`, returns false and leaves the template set unchanged.
bool load(TemplateSet& template_set, LoadedImages TemplateSet::*list,
          const TemplateSettings& settings, unsigned max_pixels, guint& last_id, Fault& fault);

/// The image of a file. Null with `fault` (RESOURCE/OPEN_READ), whose text begins with `failure`.
SharedImage read_image(const char* failure, const std::string& file, const std::string& label,
                       unsigned max_pixels, guint id, Fault& fault);

/// One image. An empty label stands for the default: the file's name, or `unlabelled`. Null with
/// `fault`, as above.
SharedImage load_file(const std::string& file, const std::string& label, unsigned max_pixels,
                      guint id, Fault& fault);
SharedImage copy_sample(GstSample* sample, const std::string& label, unsigned max_pixels, guint id,
                        Fault& fault, const char* unlabelled = "sample");

}  // namespace cudaxcorr
