// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Structures as JSON. All fields are converted by their types, so new ones need no change here.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gst/gst.h>

#include "json/label_changes.h"

namespace cudaxcorr {

/// One object, on one line, with the fields of all these structures, of which some may be null.
/// GBytes are arrays of 32-bit floats. Unknown times (GST_CLOCK_TIME_NONE) and numbers that JSON
/// does not have are null.
std::string json_text(std::initializer_list<const GstStructure*> structures);

/// A copy in which what is not UTF-8 is replaced by U+FFFD, as texts of objects have it.
std::string valid_text(const gchar* text);

/// A member of such an object: its name and its value as JSON.
struct JsonMember {
  std::string name, value;
};
std::vector<JsonMember> json_members(std::initializer_list<const GstStructure*> structures);

/// The version of what frame_text() has: fields that come do not change it, others do.
inline constexpr int schema_version = 1;

/// What is known of a frame: `schema`, its times in that segment, `field` with the fields of the
/// meta of cudaxcorrfield, and those of the meta of cudaxcorr, as far as it has them; `peaks` in
/// any case. docs/results.schema.json describes it.
std::string frame_text(const GstSegment& segment, GstBuffer* buffer);

/// The same with the labels that came and left in the place of the peaks, which take most of the
/// time.
std::string change_text(const GstSegment& segment, GstBuffer* buffer, const LabelChange& change);

/// The same, kept for later: making JSON of it takes longer than copying it.
class FrameFields {
 public:
  FrameFields(const GstSegment& segment, GstBuffer* buffer);
  std::vector<JsonMember> members() const;

 private:
  std::shared_ptr<const GstStructure> times_, result_;
};

}  // namespace cudaxcorr
