// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates' pictures: files, samples, patches of frames. They are kept as they came and
// converted to the pipeline's own format and colorimetry when that is known, so that their luma
// comes about as the frames' does and an exact copy scores 1 in every format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "common/fault.h"
#include "common/sample.h"

namespace cudaxcorr {

struct Picture {
  guint id;           ///< from 1; no other template of the element ever has it
  std::string file;   ///< empty: it came as a sample
  std::string label;  ///< a file's base name without its extension, if nobody gave another
  Sample sample;

  const std::string& name() const { return file.empty() ? label : file; }
};

using SharedPicture = std::shared_ptr<const Picture>;
using Pictures = std::vector<SharedPicture>;

/// What the application wants of templates. Files are not read before the element starts.
struct TemplateSettings {
  std::string file;                ///< `template`
  std::vector<std::string> files;  ///< `templates`
  Sample sample;                   ///< `template-sample`
  Pictures added;                  ///< by signals
};

/// The templates in the order of their indices.
struct Bank {
  Pictures single, several, sampled, added;

  static constexpr Pictures Bank::*lists[] = {&Bank::single, &Bank::several, &Bank::sampled,
                                              &Bank::added};
  std::size_t size() const;
  const Picture& operator[](std::size_t index) const;
};

/// The settings that lead to a bank.
TemplateSettings settings_of(const Bank& bank);

/// Fills one of the bank's lists anew; ids come after `last_id`. Blocks for as long as decoding
/// takes. False, and the bank is as it was, with `fault` when a file cannot be read (RESOURCE/
/// OPEN_READ) or a sample not be used (LIBRARY/SETTINGS).
bool load(Bank& bank, Pictures Bank::*list, const TemplateSettings& settings, guint& last_id,
          Fault& fault);

/// One picture. An empty label: that of a file, or `sample`. Null with `fault`, as above.
SharedPicture load_file(const std::string& file, const std::string& label, guint id, Fault& fault);
SharedPicture copy_sample(GstSample* sample, const std::string& label, guint id, Fault& fault);

/// Dense 8-bit luma.
struct LumaImage {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    return {pixels.data(), xcorr::ElementType::u8, size, size.width};
  }
};

/// For each of `after` which one of `before` it equals, if any; each is taken once.
std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before);

/// The luma that the picture has in a pipeline of that format. Empty when it cannot be converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture);

}  // namespace cudaxcorr
