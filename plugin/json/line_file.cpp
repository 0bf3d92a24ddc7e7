// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json/line_file.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cudaxcorr {

std::optional<Fault> LineFile::open(const std::string& path) {
  name_ = path.empty() ? "standard output" : "'" + path + "'";
  file_ = path.empty() ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                       : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) return failed(GST_RESOURCE_ERROR_OPEN_WRITE, "Cannot open ");
  return std::nullopt;
}

std::optional<Fault> LineFile::write(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      const Fault fault = failed(GST_RESOURCE_ERROR_WRITE, "Cannot write to ");
      take_back(line.size() - rest.size());
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> LineFile::close() {
  const int file = std::exchange(file_, -1);
  if (file >= 0 && ::close(file) != 0) return failed(GST_RESOURCE_ERROR_WRITE, "Cannot write to ");
  return std::nullopt;
}

Fault LineFile::failed(int code, const std::string& what) const {
  return {GST_RESOURCE_ERROR, code, what + name_ + ": " + g_strerror(errno)};
}

/// Impossible in a pipe, where a reader has the bytes already.
void LineFile::take_back(std::size_t bytes) {
  const off_t whole = lseek(file_, -static_cast<off_t>(bytes), SEEK_CUR);
  if (bytes > 0 && whole >= 0 && ftruncate(file_, whole) != 0)
    GST_WARNING("the last line of %s is not whole: %s", name_.c_str(), g_strerror(errno));
}

}  // namespace cudaxcorr
