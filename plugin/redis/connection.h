// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A connection to a Redis server, over hiredis: commands go out as one stream, replies come back in
// their order. Only opening it may wait, for as long as `opening_timeout`, and TLS as long again.
// Replies are of the kinds that the commands here have, and short; a server that sends others is
// none.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <hiredis.h>

#include "redis/address.h"
#include "redis/socket.h"

namespace cudaxcorr {

inline constexpr std::chrono::seconds opening_timeout{2};

class RedisConnection {
 public:
  /// Empty, or why there is none.
  std::string open(const RedisAddress& address);
  void close();
  /// From any thread: opening it fails, now and later, and what is open is shut.
  void abort();
  bool is_open() const { return context_ != nullptr; }

  /// Puts a command behind those that have not been written.
  void append(const std::vector<std::string>& words);

  /// Writes and reads what can be at once, after waiting for that at most so long, or until `waker`
  /// is readable. Empty, or why the connection is broken.
  std::string exchange(int waker, std::chrono::milliseconds timeout);

  struct Reply {
    bool is_error, is_broken;  ///< of the latter nothing else can be read
    std::string text;
  };
  /// The next one that has come completely.
  std::optional<Reply> take_reply();

 private:
  std::string failure() const;

  SocketOpener opener_;
  std::mutex shutting_;  ///< of `shut_` and closing that descriptor
  int shut_ = -1;        ///< what abort() shuts
  std::unique_ptr<redisContext, decltype(&redisFree)> context_{nullptr, redisFree};
  bool written_ = true;  ///< all that was appended
};

}  // namespace cudaxcorr
