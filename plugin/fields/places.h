// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The places of interrogation windows that are not on a grid: a CSV file of x and y, as the command
// xcorr-field reads it with --places. It may be hostile.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <xcorr/field.hpp>

#include "common/fault.h"

namespace cudaxcorr::fields {

struct Places {
  std::string file;
  std::vector<xcorr::FieldPlace> centres;
};
using SharedPlaces = std::shared_ptr<const Places>;

/// The columns x and y or, where the first line has no names, the first two. Empty with the reason.
std::vector<xcorr::FieldPlace> places_in(std::string_view csv, std::string& reason);

/// Those of a file. Null with the fault.
SharedPlaces read_places(const std::string& file, Fault& fault);

}  // namespace cudaxcorr::fields
