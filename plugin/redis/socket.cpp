// SPDX-License-Identifier: LGPL-2.1-or-later
#include "redis/socket.h"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cudaxcorr {
namespace {

using namespace std::chrono_literals;

constexpr auto look_around = 50ms;  ///< whether it is to end

constexpr char late[] = "it does not answer";

}  // namespace

struct SocketOpener::Lookup {
  struct Address {
    sockaddr_storage bytes;
    socklen_t size;
  };
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::string reason;
  std::vector<Address> addresses;
};

std::shared_ptr<SocketOpener::Lookup> SocketOpener::look_up(const RedisAddress& address) {
  auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, host = address.host, port = std::to_string(address.port)] {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    const std::lock_guard lock(lookup->mutex);
    if (error) lookup->reason = gai_strerror(error);
    for (const addrinfo* one = error ? nullptr : found; one; one = one->ai_next) {
      Lookup::Address& to = lookup->addresses.emplace_back();
      std::memcpy(&to.bytes, one->ai_addr, one->ai_addrlen);
      to.size = one->ai_addrlen;
    }
    if (!error) freeaddrinfo(found);
    lookup->done = true;
    lookup->changed.notify_all();
  }).detach();
  return lookup;
}

int SocketOpener::connect(const void* address, std::size_t size, Clock::time_point deadline,
                          std::string& reason) const {
  const auto* to = static_cast<const sockaddr*>(address);
  const int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    reason = std::strerror(errno);
    return -1;
  }
  int error = ::connect(fd, to, static_cast<socklen_t>(size)) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    error = ETIMEDOUT;
    pollfd polled{fd, POLLOUT, 0};
    while (error == ETIMEDOUT && goes_on(deadline))
      if (::poll(&polled, 1, look_around.count()) > 0) {
        socklen_t length = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        break;
      }
  }
  if (error == 0) {
    const int yes = 1;
    if (to->sa_family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
  }
  reason = error == ETIMEDOUT ? late : std::strerror(error);
  close(fd);
  return -1;
}

int SocketOpener::open(const RedisAddress& address, std::chrono::seconds limit,
                       std::string& reason) {
  const auto deadline = Clock::now() + limit;
  if (!address.path.empty()) {
    sockaddr_un to{AF_UNIX, {}};
    if (address.path.size() >= sizeof to.sun_path) {
      reason = std::strerror(ENAMETOOLONG);
      return -1;
    }
    address.path.copy(to.sun_path, address.path.size());
    return connect(&to, sizeof to, deadline, reason);
  }
  if (!lookup_) lookup_ = look_up(address);
  std::vector<Lookup::Address> addresses;
  {
    std::unique_lock lock(lookup_->mutex);
    while (!lookup_->done && goes_on(deadline)) lookup_->changed.wait_for(lock, look_around);
    if (!lookup_->done) {
      reason = "the name of its host is still looked up";
      return -1;
    }
    reason = lookup_->reason;
    addresses = std::move(lookup_->addresses);
  }
  lookup_.reset();
  for (const Lookup::Address& one : addresses)
    if (const int fd = connect(&one.bytes, one.size, deadline, reason); fd >= 0) return fd;
  return -1;
}

}  // namespace cudaxcorr
