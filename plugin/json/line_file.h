// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A file of whole lines or other records. Each is handed to the system at once, and if the disk
// becomes full the incomplete last one is cut off again, which no stream of the standard library or
// GIO does. Pipes neither block a thread that is to stop nor end the process by a signal.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "common/fault.h"

namespace cudaxcorr {

class LineFile {
 public:
  LineFile();
  ~LineFile() { close(); }
  LineFile(const LineFile&) = delete;

  /// Empties the file or makes it; an empty path is standard output. A pipe must have a reader.
  std::optional<Fault> open(const std::string& path);
  /// While a pipe is full it waits, unless interrupted. Of an interrupted record nothing is written
  /// or, if it was begun, the rest by the next call.
  std::optional<Fault> write(const std::string& record);
  /// Cuts off the last bytes that were written. Impossible in a pipe, where a reader has them.
  void take_back(std::size_t bytes);
  /// Some file systems report a failed write only here.
  std::optional<Fault> close();

  /// Of what is open: no pipe and no terminal, so that writing does not wait.
  bool is_regular() const;
  const std::string& name() const { return name_; }

  /// From any thread: ends the waiting and keeps write() from it until it is revoked.
  void interrupt(bool interrupted);
  bool interrupted() const { return interrupted_; }

 private:
  bool wait() const;
  Fault failed(int code, const std::string& what) const;

  std::unique_ptr<GstPoll, decltype(&gst_poll_free)> poll_;
  std::atomic<bool> interrupted_ = false;
  int file_ = -1;
  std::size_t piece_ = 0;  ///< bytes that can be written without blocking, once there is room
  std::string name_;
  std::string rest_;  ///< still to be written of a record that was interrupted
};

}  // namespace cudaxcorr
