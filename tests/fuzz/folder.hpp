// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A folder of this process, for targets that read files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bytes.hpp"

/// Made when it is first asked for, removed when the process ends.
inline std::string temporary(const char* name) {
  static const struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / "fuzz-XXXXXX") {
      require(mkdtemp(path.data()) != nullptr, "there is a temporary folder");
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
  } folder;
  return folder.path + "/" + name;
}
