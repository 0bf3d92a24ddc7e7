// SPDX-License-Identifier: LGPL-2.1-or-later
//
// In place of oneTBB's for ThreadSanitizer, which does not see the order that a library without
// instrumentation makes: a plain fork and join, by two threads.
#pragma once

#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/partitioner.h>

namespace tbb {

template <class Range, class Body>
void parallel_for(const Range& whole, const Body& body) {
  if (!whole.is_divisible()) return body(whole);
  Range left = whole;
  const Range right(left, split());
  std::thread other([&] { body(right); });
  body(left);
  other.join();
}

template <class Index, class Body, class... Partitioner>
void parallel_for(Index first, Index last, const Body& body, const Partitioner&...) {
  if (first < last)
    parallel_for(blocked_range<Index>(first, last), [&](const blocked_range<Index>& range) {
      for (Index i = range.begin(); i < range.end(); ++i) body(i);
    });
}

}  // namespace tbb
