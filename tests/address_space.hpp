// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Makes memory scarce for a scope, to find out what happens when an allocation fails.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

/// From the start, what is freed is given back to the system, and no thread has a reserve.
inline const bool frugal = mallopt(M_MMAP_THRESHOLD, 1 << 20) && mallopt(M_ARENA_MAX, 1);

/// So many bytes more than are in use may be allocated.
class AddressSpace {
 public:
  explicit AddressSpace(std::size_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = in_use() + more;
    setrlimit(RLIMIT_AS, &now);
  }
  ~AddressSpace() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpace(const AddressSpace&) = delete;

  /// Bytes of this process.
  static std::size_t in_use() {
    std::size_t pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

 private:
  rlimit before_;
};
