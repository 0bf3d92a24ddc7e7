// SPDX-License-Identifier: LGPL-2.1-or-later
//
// For tests of kernel=tune: a cache folder of their own, named by the environment.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "match/tune_cache.hpp"

namespace api {

using namespace xcorr;
namespace fs = std::filesystem;

/// Sets or removes an environment variable for the lifetime of the object.
class Environment {
 public:
  Environment(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Environment() { set(old_); }
  Environment(const Environment&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> old_;
};

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tune-test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// A file's lines without the heading.
inline std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.starts_with('#')) lines.push_back(line);
  return lines;
}

class CacheTest : public testing::Test {
 protected:
  const Folder cache;
  const Environment folder{"XDG_CACHE_HOME", cache.path().string()};
  const fs::path file = cache.path() / "cudaxcorr" / "tuned-kernels.txt";
};

}  // namespace api
