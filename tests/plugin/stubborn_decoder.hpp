// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A decoder of a made-up format that does what no decoder should: the file says what.
#pragma once

#include <string>

namespace stubborn_decoder {

/// Registers it, of the highest rank, and its format in this process.
void install();

/// A file for it, which "spins", "blocks" or "does not stop" until release(), or "is large".
std::string file_that(const std::string& does);

void release();

/// Whether it got memory for an image of 16384x16384 pixels.
bool has_allocated();

}  // namespace stubborn_decoder
