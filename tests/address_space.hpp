// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Makes memory scarce for a scope, to find out what happens when an allocation fails.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

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

/// Takes for a scope what was freed before and not given back to the system, which otherwise could
/// be had without more address space.
class FreedMemory {
 public:
  FreedMemory() {
    const AddressSpace no_more(0);
    for (std::size_t bytes = std::size_t{1} << 28; bytes >= sizeof(Block); bytes /= 2)
      while (void* block = std::malloc(bytes)) blocks_ = new (block) Block{blocks_};
  }
  ~FreedMemory() {
    while (blocks_) std::free(std::exchange(blocks_, blocks_->next));
  }
  FreedMemory(const FreedMemory&) = delete;

 private:
  struct Block {
    Block* next;
  };
  Block* blocks_ = nullptr;
};
