// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/sender.h"

#include <algorithm>
#include <csignal>
#include <random>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace cudaxcorr {
namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 100ms, longest_pause = 5000ms;
constexpr auto longest_silence = 3s;  ///< of a server that was asked something
constexpr auto time_at_the_end = 800ms;
/// A stream that takes no entry for so long was written by a clock that was ahead.
constexpr auto longest_behind = 3s;
constexpr std::size_t window = 64;  ///< entries that may be unconfirmed at once

/// Writing to a connection that the server has closed is an error here, not a signal.
void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// When this thread is woken, the one that woke it goes on first, even if there is one core for
/// both. Where that is not permitted it is as others.
void give_way() {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

/// The stream has an entry of this ID or a later one.
bool is_behind(const std::string& error) {
  return error.find("equal or smaller than") != std::string::npos;
}

}  // namespace

Sender::Sender(SenderOptions options, SenderCounts& counts, std::function<void(std::string)> tell)
    : options_(std::move(options)),
      counts_(counts),
      tell_(std::move(tell)),
      waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_(&Sender::run, this) {}

Sender::~Sender() {
  {
    std::unique_lock lock(mutex_);
    deadline_ = Clock::now() + time_at_the_end;
    eventfd_write(waker_, 1);
    changed_.wait_until(lock, deadline_, [this] { return ended_; });
  }
  connection_.abort();
  thread_.join();
  close(waker_);
}

void Sender::push(RedisEntry entry) {
  ++counts_.pushed;
  RedisEntry oldest;  // ends outside the lock
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + in_flight_size_ >= options_.queue_size) {
      ++counts_.dropped;
      if (waiting_.empty()) return;  // what is in flight cannot be taken back
      oldest = std::move(waiting_.front());
      waiting_.pop_front();
    }
    waiting_.push_back(std::move(entry));
    wake = std::exchange(waits_for_entries_, false);
  }
  if (wake) eventfd_write(waker_, 1);
}

std::string Sender::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time_at_the_end,
                    [this] { return fails_ || (waiting_.empty() && in_flight_size_ == 0); });
  const std::uint64_t lost = counts_.dropped + waiting_.size() + in_flight_size_;
  if (lost == 0) return "";
  return "Of " + std::to_string(counts_.pushed) + " results " + std::to_string(lost) +
         " have not reached the Redis server '" + options_.address_text + "'" +
         (standing_reason_.empty() ? "" : ": " + standing_reason_);
}

/// To those who wait in other threads.
void Sender::show() {
  {
    const std::lock_guard lock(mutex_);
    fails_ = Clock::now() < next_try_;
    standing_reason_ = reason_;
  }
  changed_.notify_all();
}

void Sender::run() {
  block_sigpipe();
  give_way();
  heard_ = Clock::now();
  while (!is_done()) try {
      if (!connection_.is_open() && Clock::now() >= next_try_) connect();
      show();
      if (connection_.is_open()) send();
      wait();
      tell_now_and_then();
    } catch (const std::bad_alloc&) {
      disconnect("there is no memory");
    }
  std::unique_lock lock(mutex_);
  counts_.dropped += waiting_.size() + in_flight_.size();
  counts_.connected = false;
  next_tell_ = {};
  tell_now_and_then();
  ended_ = true;
  lock.unlock();
  changed_.notify_all();
}

/// At the end a server that has just failed is not waited for.
bool Sender::is_done() {
  const std::lock_guard lock(mutex_);
  if (deadline_ == Clock::time_point::max()) return false;
  const bool empty = waiting_.empty() && in_flight_.empty();
  return empty || Clock::now() < next_try_ || Clock::now() >= deadline_;
}

void Sender::connect() {
  if (const std::string reason = connection_.open(options_.address); !reason.empty()) {
    disconnect(reason);
    return;
  }
  ++counts_.connections;
  heard_ = Clock::now();
  greeting_ = true;
  server_ids_ = false;
  behind_since_ = {};
  std::vector<std::string> words = {"PING"};
  if (!options_.password.empty()) {
    words = {"AUTH", options_.password};
    if (!options_.address.user.empty()) words.insert(words.begin() + 1, options_.address.user);
  }
  connection_.append(words);
}

void Sender::disconnect(const std::string& reason) {
  connection_.close();
  counts_.connected = false;
  for (std::size_t i = refused_; i < written_; ++i) in_flight_[i].unconfirmed = true;
  written_ = refused_ = 0;
  reason_ = reason;
  back_off();
}

/// A fleet does not come back all at once.
void Sender::back_off() {
  static thread_local std::minstd_rand random(std::random_device{}());
  pause_ = std::clamp<std::chrono::milliseconds>(2 * pause_, first_pause, longest_pause);
  next_try_ = Clock::now() + pause_ * std::uniform_int_distribution(50, 100)(random) / 100;
}

/// Nothing precedes the reply to the first command, which says whether the server takes any. After
/// an error nothing follows until all replies have come, and then for a pause: entries that came
/// after it would make its own too old.
void Sender::send() {
  if (greeting_ || refused_ > 0 || Clock::now() < next_try_) return;
  {
    const std::lock_guard lock(mutex_);
    for (; in_flight_.size() < window && !waiting_.empty(); waiting_.pop_front())
      in_flight_.push_back(std::move(waiting_.front()));
    in_flight_size_ = in_flight_.size();
    waits_for_entries_ = in_flight_.size() < window;
  }
  if (written_ == 0) heard_ = Clock::now();
  for (; written_ < in_flight_.size(); ++written_)
    connection_.append(command(in_flight_[written_]));
}

std::vector<std::string> Sender::command(const RedisEntry& entry) const {
  std::vector<std::string> words = {"XADD", entry.stream};
  if (options_.max_length)
    words.insert(words.end(), {"MAXLEN", "~", std::to_string(options_.max_length)});
  words.push_back(server_ids_ ? "*" : entry.id);
  for (std::string& word : entry.fields()) words.push_back(std::move(word));
  return words;
}

/// For whatever comes first: the server, an entry, the next try, or something to tell.
void Sender::wait() {
  const auto now = Clock::now();
  const auto until = now < next_try_ ? std::min(next_try_, now + 1s) : now + 1s;
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  if (connection_.is_open()) {
    std::string broken = connection_.exchange(waker_, timeout);
    take_replies();
    const bool asked = greeting_ || written_ > refused_;
    if (broken.empty() && asked && Clock::now() - heard_ > longest_silence)
      broken = "it does not answer";
    if (!broken.empty()) disconnect(broken);
  } else {
    pollfd polled{waker_, POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(timeout.count()));
  }
  eventfd_t times;
  eventfd_read(waker_, &times);
}

void Sender::take_replies() {
  while (connection_.is_open()) {
    const auto reply = connection_.take_reply();
    if (!reply) return;
    heard_ = Clock::now();
    take(*reply);
  }
}

void Sender::take(const RedisConnection::Reply& reply) {
  if (reply.is_broken) {
    disconnect(reply.text);
  } else if (greeting_) {
    greeting_ = false;
    counts_.connected = !reply.is_error;
    if (reply.is_error) disconnect(reply.text);
  } else if (refused_ == written_) {
    disconnect("it answers what it was not asked: " + reply.text);
  } else if (!reply.is_error) {
    resolve(true);
  } else if (is_behind(reply.text)) {
    const bool delivered = in_flight_[refused_].unconfirmed;
    if (!delivered) {
      reason_ = reply.text;
      note_behind();
    }
    resolve(delivered);
  } else {
    reason_ = reply.text;
    if (++refused_ < written_) return;
    written_ = refused_ = 0;  // all are tried again
    back_off();
  }
}

/// One that is too old may be another process's; if all are, for some time, the stream would take
/// none until its last entry's time has come, perhaps in years.
void Sender::note_behind() {
  if (behind_since_ == Clock::time_point()) behind_since_ = Clock::now();
  if (server_ids_ || Clock::now() - behind_since_ < longest_behind) return;
  server_ids_ = true;
  tell_("The stream of the Redis server '" + options_.address_text +
        "' has an entry of a later time than the frames, by a clock that was ahead: entries get "
        "IDs of the server's instead of their frames' times. Delete that stream");
}

/// That entry is settled; those before it, which got errors, are too old from now on.
void Sender::resolve(bool delivered) {
  counts_.dropped += refused_ + (delivered ? 0 : 1);
  counts_.sent += delivered ? 1 : 0;
  in_flight_.erase(in_flight_.begin(),
                   in_flight_.begin() + static_cast<std::ptrdiff_t>(refused_) + 1);
  written_ -= refused_ + 1;
  refused_ = 0;
  if (delivered) {
    behind_since_ = {};
    reason_.clear();
    pause_ = 0ms;
    next_try_ = Clock::time_point::min();
  }
  {
    const std::lock_guard lock(mutex_);
    in_flight_size_ = in_flight_.size();
  }
  changed_.notify_all();
}

void Sender::tell_now_and_then() {
  const std::uint64_t dropped = counts_.dropped;
  if (reason_.empty()) told_reason_.clear();
  if ((dropped == told_dropped_ && reason_ == told_reason_) || Clock::now() < next_tell_) return;
  std::string text = "The Redis server '" + options_.address_text + "' does not take results: " +
                     (reason_.empty() ? "more come than it takes" : reason_);
  if (dropped > 0) text += "; " + std::to_string(dropped) + " were dropped so far";
  tell_(text);
  told_dropped_ = dropped;
  told_reason_ = reason_;
  next_tell_ = Clock::now() + 1s;
}

}  // namespace cudaxcorr
