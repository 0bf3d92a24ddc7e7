// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hands entries to streams of a Redis server, from a thread of its own: the one that has them waits
// for nothing, and wakes this one only when they can be sent at once. What does not fit the queue
// is dropped, the oldest first. Entries that a server has not confirmed are sent again by the next
// connection; their IDs keep them from being doubled.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "redis/address.h"
#include "redis/connection.h"

namespace cudaxcorr {

struct RedisEntry {
  std::string stream, id;
  std::function<std::vector<std::string>()>
      fields;                ///< makes names and values in turn, in the thread
  bool unconfirmed = false;  ///< an earlier connection may have delivered it
};

struct SenderOptions {
  RedisAddress address;
  std::string address_text, password;
  std::uint64_t max_length = 0;  ///< of a stream, about; 0: any
  std::size_t queue_size = 1;
};

/// Of entries; those that are neither sent nor dropped are still here.
struct SenderCounts {
  std::atomic<std::uint64_t> pushed = 0, sent = 0, dropped = 0, connections = 0;
  std::atomic<bool> connected = false;
};

class Sender {
 public:
  /// `tell` is called from the thread, at most once per second, with what keeps entries from the
  /// server. The counts outlive the sender.
  Sender(SenderOptions options, SenderCounts& counts, std::function<void(std::string)> tell);
  /// Gives what is left a second, and whatever it waits for no more.
  ~Sender();
  Sender(const Sender&) = delete;

  void push(RedisEntry entry);

  /// Waits until no entry is left, a second at most, or less where the server fails. What is left
  /// then, or has been dropped, and why; empty: nothing.
  std::string settle();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool is_done();
  void connect();
  void disconnect(const std::string& reason);
  void send();
  void take_replies();
  void take(const RedisConnection::Reply& reply);
  void resolve(bool delivered);
  void wait();
  void back_off();
  void tell_now_and_then();
  void show();
  void note_behind();
  std::vector<std::string> command(const RedisEntry& entry) const;

  const SenderOptions options_;
  SenderCounts& counts_;
  const std::function<void(std::string)> tell_;
  const int waker_;  ///< readable when there is an entry that it waits for, or at the end

  std::mutex mutex_;                 ///< of the next seven; never held while something may wait
  std::condition_variable changed_;  ///< of what follows, for those that wait
  std::deque<RedisEntry> waiting_;
  bool waits_for_entries_ = false;  ///< those that come can be sent at once
  std::size_t in_flight_size_ = 0;
  Clock::time_point deadline_ = Clock::time_point::max();  ///< after which it ends
  bool ended_ = false;
  bool fails_ = false;           ///< the server does, for now
  std::string standing_reason_;  ///< `reason_`, for others

  // Of the thread:
  RedisConnection connection_;
  std::deque<RedisEntry> in_flight_;  ///< written, but for the last ones, and not confirmed
  std::size_t written_ = 0;           ///< of these, to this connection
  std::size_t refused_ = 0;           ///< of the written: the first ones, which got an error
  bool greeting_ = false;             ///< the next reply is that of the first command
  Clock::time_point
      behind_since_{};       ///< all entries were too old for the stream; none: they are not
  bool server_ids_ = false;  ///< entries get the server's, which are never too old
  Clock::time_point heard_;  ///< of the server, or nothing was asked
  Clock::time_point next_try_ = Clock::time_point::min();
  std::chrono::milliseconds pause_{0};
  std::string reason_;  ///< why entries do not reach the server; empty: they do
  std::string told_reason_;
  std::uint64_t told_dropped_ = 0;
  Clock::time_point next_tell_ = Clock::time_point::min();

  std::thread thread_;
};

}  // namespace cudaxcorr
