// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json/line_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cudaxcorr {
namespace {

bool is_pipe(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

/// write(), but a pipe without readers is an error (EPIPE) only: its signal would end the process.
/// The signal goes to the thread that writes, and so it can be taken back.
ssize_t write_without_signal(int file, const char* bytes, std::size_t count) {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(file, bytes, count);
  const int error = errno;
  if (written < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
    constexpr timespec at_once = {};
    sigtimedwait(&pipe, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

LineFile::LineFile() : poll_(gst_poll_new(TRUE), gst_poll_free) {}

/// What is opened here does not block. Standard output, shared with other programs, stays as it is.
std::optional<Fault> LineFile::open(const std::string& path) {
  name_ = path.empty() ? "standard output" : "'" + path + "'";
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  file_ =
      path.empty() ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), flags, 0666);
  if (file_ < 0 && errno == ENXIO && is_pipe(path))
    return Fault{GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
                 "Cannot open " + name_ + ": no program reads from this pipe"};
  if (file_ < 0) return failed(GST_RESOURCE_ERROR_OPEN_WRITE, "Cannot open ");
  piece_ = is_regular() ? std::numeric_limits<ssize_t>::max() : PIPE_BUF;
  GstPollFD polled = GST_POLL_FD_INIT;
  polled.fd = file_;
  gst_poll_add_fd(poll_.get(), &polled);
  gst_poll_fd_ctl_write(poll_.get(), &polled, TRUE);
  return std::nullopt;
}

std::optional<Fault> LineFile::write(const std::string& record) {
  rest_ += record;
  std::size_t done = 0;
  std::optional<Fault> fault;
  while (!fault && done < rest_.size() && wait()) {
    const ssize_t count =
        write_without_signal(file_, rest_.data() + done, std::min(piece_, rest_.size() - done));
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR && errno != EAGAIN) {
      fault = failed(GST_RESOURCE_ERROR_WRITE, "Cannot write to ");
      take_back(done);
      done = rest_.size();  // nothing of it is written later
    }
  }
  rest_.erase(0, done);
  if (rest_.size() >= record.size()) rest_.resize(rest_.size() - record.size());  // not begun
  return fault;
}

std::optional<Fault> LineFile::close() {
  const int file = std::exchange(file_, -1);
  if (file < 0) return std::nullopt;
  rest_.clear();
  GstPollFD polled = GST_POLL_FD_INIT;
  polled.fd = file;
  gst_poll_remove_fd(poll_.get(), &polled);
  if (::close(file) != 0) return failed(GST_RESOURCE_ERROR_WRITE, "Cannot write to ");
  return std::nullopt;
}

bool LineFile::is_regular() const {
  struct stat info;
  return fstat(file_, &info) == 0 && S_ISREG(info.st_mode);
}

void LineFile::interrupt(bool interrupted) {
  interrupted_ = interrupted;
  gst_poll_set_flushing(poll_.get(), interrupted);
}

/// Until there is room in the pipe, or it has no reader. False if interrupted.
bool LineFile::wait() const {
  while (!interrupted_)
    if (gst_poll_wait(poll_.get(), GST_CLOCK_TIME_NONE) >= 0) return true;
  return false;
}

Fault LineFile::failed(int code, const std::string& what) const {
  return {GST_RESOURCE_ERROR, code, what + name_ + ": " + g_strerror(errno)};
}

void LineFile::take_back(std::size_t bytes) {
  const off_t whole = lseek(file_, -static_cast<off_t>(bytes), SEEK_CUR);
  if (bytes > 0 && whole >= 0 && ftruncate(file_, whole) != 0)
    GST_WARNING("the end of %s is not whole: %s", name_.c_str(), g_strerror(errno));
}

}  // namespace cudaxcorr
