// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Opening a socket to a server within a time limit, the look-up of its name included. Another
// thread can end it at once.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "redis/address.h"

namespace cudaxcorr {

class SocketOpener {
 public:
  /// A descriptor that is connected and does not block; -1 where `reason` says why not.
  int open(const RedisAddress& address, std::chrono::seconds limit, std::string& reason);
  /// From any thread: what is being opened fails, and whatever is opened later.
  void abort() { aborted_ = true; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Lookup;

  static std::shared_ptr<Lookup> look_up(const RedisAddress& address);
  bool goes_on(Clock::time_point deadline) const { return !aborted_ && Clock::now() < deadline; }
  int connect(const void* address, std::size_t size, Clock::time_point deadline,
              std::string& reason) const;

  std::atomic<bool> aborted_ = false;
  /// Of a thread of its own, which nothing can stop; the next try waits for it, too.
  std::shared_ptr<Lookup> lookup_;
};

}  // namespace cudaxcorr
