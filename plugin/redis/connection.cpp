// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/connection.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>

#include "redis/tls.h"

namespace cudaxcorr {

/// What blocks here has the time limit; afterwards nothing does.
std::string RedisConnection::open(const RedisAddress& address) {
  const timeval limit{opening_timeout.count(), 0};
  context_.reset(address.path.empty()
                     ? redisConnectWithTimeout(address.host.c_str(), address.port, limit)
                     : redisConnectUnixWithTimeout(address.path.c_str(), limit));
  written_ = true;
  if (!context_) return "there is no memory";
  std::string reason = context_->err ? failure() : "";
  if (reason.empty() && address.tls) {
    redisSetTimeout(context_.get(), limit);
    reason = begin_tls(context_.get(), address.host);
  }
  if (!reason.empty()) {
    close();
    return reason;
  }
  fcntl(context_->fd, F_SETFL, fcntl(context_->fd, F_GETFL) | O_NONBLOCK);
  context_->flags &= ~REDIS_BLOCK;
  return "";
}

void RedisConnection::append(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                         sizes.data());
  written_ = false;
}

std::string RedisConnection::exchange(int waker, std::chrono::milliseconds timeout) {
  pollfd polled[] = {{context_->fd, static_cast<short>(written_ ? POLLIN : POLLIN | POLLOUT), 0},
                     {waker, POLLIN, 0}};
  if (::poll(polled, 2, static_cast<int>(timeout.count())) < 0) return "";  // a signal
  if (polled[0].revents & POLLOUT) {
    int done = 0;
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return failure();
    written_ = done != 0;
  }
  if (polled[0].revents & ~POLLOUT && redisBufferRead(context_.get()) != REDIS_OK) return failure();
  return "";
}

std::optional<RedisConnection::Reply> RedisConnection::take_reply() {
  void* taken = nullptr;
  if (redisGetReplyFromReader(context_.get(), &taken) != REDIS_OK) return Reply{true, failure()};
  if (!taken) return std::nullopt;
  const auto* reply = static_cast<const redisReply*>(taken);
  Reply result{reply->type == REDIS_REPLY_ERROR,
               reply->str ? std::string(reply->str, reply->len) : std::string()};
  freeReplyObject(taken);
  return result;
}

std::string RedisConnection::failure() const {
  const std::string text = context_->errstr;
  return text.empty() ? std::strerror(errno) : text;
}

}  // namespace cudaxcorr
