// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The contents of a file that a stranger may have made: read at once, so that what was checked is
// what is decoded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <glib.h>

namespace cudaxcorr {

using Contents = std::shared_ptr<GBytes>;

inline std::string_view view(const Contents& contents) {
  gsize size = 0;
  const auto* data = static_cast<const char*>(g_bytes_get_data(contents.get(), &size));
  return {data, size};
}

/// Enough for the largest template in any format, 16 bits a channel and uncompressed.
constexpr gsize max_file_bytes = gsize{128} << 20;

/// Null with the reason, also of what is no regular file, empty or larger than max_file_bytes. May
/// block where the file system does.
Contents read_file(const std::string& file, std::string& reason);

}  // namespace cudaxcorr
