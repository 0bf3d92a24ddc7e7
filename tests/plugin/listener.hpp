// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A socket that listens at a free port of this machine.
#pragma once

#include <cstdlib>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

class Listener {
 public:
  /// \param queued  connections that wait to be accepted
  explicit Listener(int queued = 8, int flags = 0)
      : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket, generic(), size) != 0 || listen(socket, queued) != 0 ||
        getsockname(socket, generic(), &size) != 0)
      std::abort();
  }
  ~Listener() { close(socket); }
  Listener(const Listener&) = delete;

  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address); }
  int port() const { return ntohs(address.sin_port); }

  const int socket;
  sockaddr_in address{};
};
