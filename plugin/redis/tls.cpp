// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/tls.h"

#include <memory>

#include <hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace cudaxcorr {
namespace {

/// What OpenSSL says, or what hiredis does where that is silent.
std::string reason_of(const redisContext* connection, long verified) {
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  if (connection->err) return connection->errstr;
  const unsigned long code = ERR_get_error();
  return code ? ERR_reason_error_string(code) : "TLS cannot begin";
}

}  // namespace

bool has_tls() { return true; }

/// hiredis has contexts of its own, which compare no host names.
std::string begin_tls(redisContext* connection, const std::string& host) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL* tls = context ? SSL_new(context.get()) : nullptr;
  if (!tls) return reason_of(connection, X509_V_OK);
  SSL_CTX_set_default_verify_paths(context.get());
  SSL_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  SSL_set_tlsext_host_name(tls, host.c_str());
  SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (!SSL_set1_host(tls, host.c_str())) {
    SSL_free(tls);
    return reason_of(connection, X509_V_OK);
  }
  SSL_up_ref(tls);  // which hiredis takes over, when it succeeds and when it does not
  const bool begun = redisInitiateSSL(connection, tls) == REDIS_OK;
  std::string reason = begun ? "" : reason_of(connection, SSL_get_verify_result(tls));
  SSL_free(tls);
  return reason;
}

}  // namespace cudaxcorr
