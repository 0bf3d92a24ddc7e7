// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any bytes as what a Redis server answers: replies no longer than these, and an end.
#include <cstdlib>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bytes.hpp"
#include "redis/connection.h"

namespace {

/// A socket in a folder of its own, which goes with the process.
class Server {
 public:
  Server() {
    char folder[] = "/tmp/xcorr-fuzz-XXXXXX";
    require(mkdtemp(folder) != nullptr, "there is a folder");
    path = std::string(folder) + "/socket";
    sockaddr_un address{AF_UNIX, {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                listen(listener, 1) == 0,
            "a socket listens");
  }
  ~Server() {
    close(listener);
    unlink(path.c_str());
    rmdir(path.substr(0, path.rfind('/')).c_str());
  }

  std::string path;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server server;
  size = std::min<std::size_t>(size, 1 << 15);  // what a socket holds
  cudaxcorr::RedisAddress address;
  address.path = server.path;
  cudaxcorr::RedisConnection connection;
  require(connection.open(address).empty(), "it connects");
  const int peer = accept(server.listener, nullptr, nullptr);
  require(send(peer, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size), "it is sent");
  shutdown(peer, SHUT_WR);
  connection.append({"PING"});
  std::size_t replies = 0;
  for (bool ends = false; !ends;) {
    ends = !connection.exchange(-1, std::chrono::seconds(1)).empty();
    while (const auto reply = connection.take_reply()) {
      require(reply->text.size() <= size + 100, "a reply is of what was sent");
      require(++replies <= size + 1, "a reply takes a byte at least");
      if ((ends |= reply->is_broken)) break;
    }
  }
  connection.close();
  close(peer);
  return 0;
}
