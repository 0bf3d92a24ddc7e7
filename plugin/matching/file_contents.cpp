// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/file_contents.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cudaxcorr {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;

  const int number;
};

/// Up to `size` bytes, fewer where the file has become shorter; negative on an error.
gssize read_up_to(const Descriptor& file, char* data, gsize size) {
  gsize done = 0;
  while (done < size) {
    const gssize bytes = read(file.number, data + done, size - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return bytes;
    if (bytes == 0) break;
    done += static_cast<gsize>(bytes);
  }
  return static_cast<gssize>(done);
}

}  // namespace

Contents read_file(const std::string& file, std::string& reason) {
  const auto refuse = [&](const char* text) {
    reason = text;
    return nullptr;
  };
  struct stat about;
  // Before it is opened, which may wait for another process or make a device do something.
  if (stat(file.c_str(), &about) != 0) return refuse(g_strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse("not a regular file");
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (opened.number < 0) return refuse(g_strerror(errno));
  // The name may stand for another file by now.
  if (fstat(opened.number, &about) != 0) return refuse(g_strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse("not a regular file");
  if (about.st_size == 0) return refuse("the file is empty");
  const auto size = static_cast<gsize>(about.st_size);
  if (size > max_file_bytes) return refuse("the file is larger than 128 MiB");
  auto* data = static_cast<char*>(g_try_malloc(size));
  if (!data) return refuse("there is no memory for the file");
  const gssize bytes = read_up_to(opened, data, size);
  if (bytes < 0) {
    const int error = errno;
    g_free(data);
    return refuse(g_strerror(error));
  }
  return {g_bytes_new_take(data, static_cast<gsize>(bytes)), g_bytes_unref};
}

}  // namespace cudaxcorr
