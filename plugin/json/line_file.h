// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A file of whole lines. Each line is handed to the system at once, and if the disk becomes full
// the incomplete last line is cut off again, which no stream of the standard library or GIO does.
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
  /// Some file systems report a failed write only here.
  std::optional<Fault> close();

 private:
  Fault failed(int code, const std::string& what) const;
  void take_back(std::size_t bytes);

  int file_ = -1;
  std::string name_;
};

}  // namespace cudaxcorr
