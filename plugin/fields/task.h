// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What shall be measured, and how.
#pragma once

#include <xcorr/field.hpp>

#include "fields/places.h"
#include "matching/templates.h"

namespace cudaxcorr::fields {

/// What frames are compared with.
enum class Reference { previous, first, file, signal };

/// What files have; null: none.
struct Files {
  SharedImage reference, mask;
  SharedPlaces places;

  bool operator==(const Files&) const = default;
};

/// The name of that of `Files`; empty: none.
template <class Read>
std::string name_of(const std::shared_ptr<const Read>& read) {
  return read ? read->file : "";
}

struct Task {
  xcorr::FieldSettings field;
  Reference reference = Reference::previous;
  Files files;

  bool operator==(const Task&) const = default;
  /// Whether a frame stays the reference of those that follow.
  bool keeps_a_frame() const {
    return reference == Reference::first || reference == Reference::signal;
  }
};

}  // namespace cudaxcorr::fields
