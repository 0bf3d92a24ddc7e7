// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A file of whole lines: each is given to the system as soon as it is written, and what a full disk
// left of the last one is cut off again. No stream of the standard library or of GIO takes a
// half-written line back.
#pragma once

#include <optional>
#include <string>

#include "common/fault.h"

namespace cudaxcorr {

class LineFile {
 public:
  LineFile() = default;
  ~LineFile() { close(); }
  LineFile(const LineFile&) = delete;

  /// Empties the file or makes it; an empty path is standard output.
  std::optional<Fault> open(const std::string& path);
  std::optional<Fault> write(std::string line);
  /// What some file systems could not write is said only here.
  std::optional<Fault> close();

 private:
  Fault failed(int code, const char* what) const;
  void take_back(std::size_t bytes);

  int file_ = -1;
  std::string name_;
};

}  // namespace cudaxcorr
