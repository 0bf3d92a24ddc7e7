// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/connection.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/tls.h"

namespace cudaxcorr {

namespace {

constexpr std::size_t longest_reply = 1 << 20;

void set_blocking(int fd, bool blocks) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

}  // namespace

std::string RedisConnection::open(const RedisAddress& address) {
  std::string reason;
  const int fd = opener_.open(address, opening_timeout, reason);
  if (fd < 0) return reason;
  context_.reset(redisConnectFd(fd));
  written_ = true;
  if (!context_) {
    ::close(fd);
    return "there is no memory";
  }
  {
    const std::lock_guard lock(shutting_);
    shut_ = fd;
  }
  if (address.tls) {
    set_blocking(fd, true);
    redisSetTimeout(context_.get(), {opening_timeout.count(), 0});
    reason = begin_tls(context_.get(), address.host);
    set_blocking(fd, false);
  }
  context_->flags &= ~REDIS_BLOCK;
  if (!reason.empty()) close();
  return reason;
}

void RedisConnection::close() {
  const std::lock_guard lock(shutting_);
  shut_ = -1;
  context_.reset();
}

void RedisConnection::abort() {
  opener_.abort();
  const std::lock_guard lock(shutting_);
  if (shut_ >= 0) ::shutdown(shut_, SHUT_RDWR);
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
  const redisReader& reader = *context_->reader;
  return reader.len - reader.pos > longest_reply ? "its reply is too long" : "";
}

std::optional<RedisConnection::Reply> RedisConnection::take_reply() {
  // Room for an array is made by what it says of its size; no command here is answered by one.
  const redisReader& reader = *context_->reader;
  if (reader.ridx < 0 && reader.pos < reader.len && !std::strchr("+-:$", reader.buf[reader.pos]))
    return Reply{true, true, "it answers what it was not asked"};
  void* taken = nullptr;
  if (redisGetReplyFromReader(context_.get(), &taken) != REDIS_OK)
    return Reply{true, true, failure()};
  if (!taken) return std::nullopt;
  const auto* reply = static_cast<const redisReply*>(taken);
  Reply result{reply->type == REDIS_REPLY_ERROR, false,
               reply->str ? std::string(reply->str, reply->len) : std::string()};
  freeReplyObject(taken);
  return result;
}

std::string RedisConnection::failure() const {
  const std::string text = context_->errstr;
  return text.empty() ? std::strerror(errno) : text;
}

}  // namespace cudaxcorr
