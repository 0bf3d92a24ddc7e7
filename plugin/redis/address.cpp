// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/address.h"

#include <memory>
#include <string_view>

#include <gst/gst.h>

namespace cudaxcorr {
namespace {

std::string text_of(const gchar* text) { return text ? text : ""; }

xcorr::Status unusable(const std::string& address, const char* reason) {
  return {xcorr::Code::invalid_argument, "Cannot use the address '" + address + "': " + reason};
}

}  // namespace

xcorr::Result<RedisAddress> parse_redis_address(const std::string& text) {
  RedisAddress address;
  if (text.starts_with("unix:")) {
    address.path = text.substr(text.starts_with("unix://") ? 7 : 5);
    if (address.path.empty()) return unusable(text, "it names no socket");
    return address;
  }
  const std::unique_ptr<GstUri, decltype(&gst_uri_unref)> uri(gst_uri_from_string(text.c_str()),
                                                              gst_uri_unref);
  const std::string scheme = text_of(uri ? gst_uri_get_scheme(uri.get()) : nullptr);
  if (scheme != "redis" && scheme != "rediss")
    return unusable(text,
                    "it is not of the form redis://HOST:PORT, rediss://HOST:PORT or unix:PATH");
  address.tls = scheme == "rediss";
  address.host = text_of(gst_uri_get_host(uri.get()));
  if (address.host.empty()) return unusable(text, "it names no host");
  if (const guint port = gst_uri_get_port(uri.get()); port != GST_URI_NO_PORT)
    address.port = static_cast<int>(port);
  if (address.port > 65535) return unusable(text, "there is no such port");
  address.user = text_of(gst_uri_get_userinfo(uri.get()));
  if (address.user.find(':') != std::string::npos)
    return unusable(text, "a password belongs in 'password' or REDISCLI_AUTH, where none reads it");
  const std::string path =
      text_of(std::unique_ptr<gchar, decltype(&g_free)>(gst_uri_get_path(uri.get()), g_free).get());
  if (!path.empty() && path != "/") return unusable(text, "streams are in database 0 only");
  return address;
}

}  // namespace cudaxcorr
