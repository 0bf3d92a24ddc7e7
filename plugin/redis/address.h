// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the server is: the property `address`.
#pragma once

#include <string>

#include <xcorr/types.hpp>

namespace cudaxcorr {

struct RedisAddress {
  std::string path;  ///< of a Unix socket; empty: the next two
  std::string host;
  int port = 6379;
  bool tls = false;
  std::string user;  ///< empty: the default one
};

/// redis://[USER@]HOST[:PORT], the same with rediss:// for TLS, or unix:PATH.
xcorr::Result<RedisAddress> parse_redis_address(const std::string& text);

}  // namespace cudaxcorr
