// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates' pictures: files, samples, patches of frames. They are kept in their original
// format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include "common/fault.h"
#include "common/sample.h"
#include "matching/masks.h"

namespace cudaxcorr {

struct Picture;
using SharedPicture = std::shared_ptr<const Picture>;
using Pictures = std::vector<SharedPicture>;

/// What makes masks.
struct Masking {
  MaskKind kind;
  unsigned inset;      ///< of a disc
  SharedPicture file;  ///< where there is one it decides alone

  bool operator==(const Masking&) const = default;
};

struct Picture {
  guint id;           ///< from 1; never reused by the same element; 0: a mask's
  std::string file;   ///< empty: given as a sample
  std::string label;  ///< UTF-8; by default a file's base name without extension
  Sample sample;
  Mask mask{};
  std::optional<Masking> masking{};  ///< that has made the mask

  const std::string& name() const { return file.empty() ? label : file; }
  /// Its format. The rows are in order, as a frame's.
  GstVideoInfo info() const;
  xcorr::Size size() const;
};

struct MaskSettings {
  MaskKind kind = MaskKind::alpha;  ///< `mask`
  unsigned inset = 0;               ///< `mask-inset`
  std::string file;                 ///< `mask-file`
};

/// The templates that the application has set. Files are read when the element starts.
struct TemplateSettings {
  std::string file;                ///< `template`
  std::vector<std::string> files;  ///< `templates`
  Sample sample;                   ///< `template-sample`
  Pictures added;                  ///< by signals
  MaskSettings mask;
};

/// The templates in the order of their indices.
struct Bank {
  Pictures single, several, sampled, added;
  Pictures mask_file;  ///< none or one
  MaskSettings mask;   ///< that the templates have been masked by

  static constexpr Pictures Bank::*lists[] = {&Bank::single, &Bank::several, &Bank::sampled,
                                              &Bank::added};
  std::size_t size() const;
  const Picture& operator[](std::size_t index) const;
};

/// The settings from which this bank would be loaded.
TemplateSettings settings_of(const Bank& bank);

/// Replaces one of the bank's lists, other than `added`, by what the settings name, not masked yet;
/// new ids follow `last_id`. Blocks while files are decoded. If a file cannot be read
/// (RESOURCE/OPEN_READ) or a sample cannot be used (LIBRARY/SETTINGS), or a picture has more
/// pixels, sets `fault`, returns false and leaves the bank unchanged.
bool load(Bank& bank, Pictures Bank::*list, const TemplateSettings& settings, unsigned max_pixels,
          guint& last_id, Fault& fault);

/// The picture of a file. Null with `fault` (RESOURCE/OPEN_READ), whose text begins with `failure`.
SharedPicture read_picture(const char* failure, const std::string& file, const std::string& label,
                           unsigned max_pixels, guint id, Fault& fault);

/// One picture. An empty label stands for the default: the file's name, or `sample`. Null with
/// `fault`, as above.
SharedPicture load_file(const std::string& file, const std::string& label, unsigned max_pixels,
                        guint id, Fault& fault);
SharedPicture copy_sample(GstSample* sample, const std::string& label, unsigned max_pixels,
                          guint id, Fault& fault);

}  // namespace cudaxcorr
