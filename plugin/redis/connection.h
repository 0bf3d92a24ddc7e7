// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A connection to a Redis server, over hiredis: commands go out as one stream, replies come back in
// their order. Only opening it may wait, for as long as `opening_timeout`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hiredis.h>

#include "redis/address.h"

namespace cudaxcorr {

inline constexpr std::chrono::seconds opening_timeout{2};

class RedisConnection {
 public:
  /// Empty, or why there is none.
  std::string open(const RedisAddress& address);
  void close() { context_.reset(); }
  bool is_open() const { return context_ != nullptr; }

  /// Puts a command behind those that have not been written.
  void append(const std::vector<std::string>& words);

  /// Writes and reads what can be at once, after waiting for that at most so long, or until `waker`
  /// is readable. Empty, or why the connection is broken.
  std::string exchange(int waker, std::chrono::milliseconds timeout);

  struct Reply {
    bool is_error;
    std::string text;
  };
  /// The next one that has come completely.
  std::optional<Reply> take_reply();

 private:
  std::string failure() const;

  std::unique_ptr<redisContext, decltype(&redisFree)> context_{nullptr, redisFree};
  bool written_ = true;  ///< all that was appended
};

}  // namespace cudaxcorr
