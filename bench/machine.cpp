// SPDX-License-Identifier: LGPL-2.1-or-later
#include "machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>

namespace bench {
namespace {

/// The first match of the pattern's group in a file, or `otherwise`.
std::string found_in(const char* path, const char* pattern, const char* otherwise) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : otherwise;
}

/// The commit of the sources in the working directory, unless XCORR_COMMIT is set.
std::string commit() {
  if (const char* given = std::getenv("XCORR_COMMIT")) return given;
  char text[100] = "";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen("git describe --always --dirty 2>/dev/null", "r"), pclose);
  if (!pipe || std::fscanf(pipe.get(), "%99s", text) != 1) return "unknown";
  return text;
}

}  // namespace

std::string description_of(const xcorr::Device& device, const std::string& toolkit) {
  if (device.backend == xcorr::Backend::cpu)
    return found_in("/proc/cpuinfo", "model name\\s*: (.*)", "CPU") + ", commit " + commit();
  return device.name + ", driver " +
         found_in("/proc/driver/nvidia/version", "Kernel Module.*?(\\d+\\.\\d+[.\\d]*)",
                  "unknown") +
         ", CUDA " + toolkit + ", commit " + commit();
}

}  // namespace bench
