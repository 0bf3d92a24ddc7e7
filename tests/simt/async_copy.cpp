// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies in flight, by thread: see simt/async_copy.hpp.
#include "simt/async_copy.hpp"

#include <array>
#include <vector>

namespace simt {
namespace {

struct PendingCopy {
  void* to;
  std::array<std::byte, 16> bytes;
  std::size_t count;
  int group;
};

struct Copies {
  std::uint64_t thread = 0;  ///< whose; of an earlier one nothing is left to do
  int open_group = 0;
  std::vector<PendingCopy> pending;
};

Copies& copies_of_this_thread() {
  static std::array<Copies, 1024> all;
  Copies& copies = all[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  if (copies.thread != thread_number()) {
    copies.thread = thread_number();
    copies.open_group = 0;
    copies.pending.clear();
  }
  return copies;
}

}  // namespace

void remember_copy(void* to, const std::byte* bytes, std::size_t count) {
  Copies& copies = copies_of_this_thread();
  PendingCopy copy{to, {}, count, copies.open_group};
  std::memcpy(copy.bytes.data(), bytes, count);
  copies.pending.push_back(copy);
}

void close_copies() { ++copies_of_this_thread().open_group; }

void finish_copies(int pending) {
  Copies& copies = copies_of_this_thread();
  std::size_t done = 0;
  for (; done < copies.pending.size(); ++done) {
    const PendingCopy& copy = copies.pending[done];
    if (copy.group >= copies.open_group - pending) break;
    std::memcpy(copy.to, copy.bytes.data(), copy.count);
  }
  copies.pending.erase(copies.pending.begin(),
                       copies.pending.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace simt
