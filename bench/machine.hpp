// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The first line of a file of results: where they were measured, and with which sources.
#pragma once

#include <string>

#include <xcorr/device.hpp>

namespace bench {

/// The device, driver, toolkit and commit. The commit is that of the sources in the working
/// directory, unless XCORR_COMMIT is set.
std::string description_of(const xcorr::Device& device, const std::string& toolkit);

}  // namespace bench
