// SPDX-License-Identifier: LGPL-2.1-or-later
//
// TLS of a connection, by OpenSSL, where hiredis has it (1.0 and newer). Other builds refuse it
// (tls_absent.cpp).
#pragma once

#include <string>

#include <hiredis.h>

namespace cudaxcorr {

bool has_tls();

/// On a connection that blocks and has a time limit. The server's certificate must be for that host
/// and signed by one that OpenSSL trusts: the system's, or those of SSL_CERT_FILE. Empty, or what
/// is wrong.
std::string begin_tls(redisContext* connection, const std::string& host);

}  // namespace cudaxcorr
