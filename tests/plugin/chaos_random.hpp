// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chance for the test `chaos`, and the record of what it led to: each thread counts its steps and
// names them, so that a failure can say where it happened.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>

#include <glib.h>

/// What messages tell.
struct ChaosRun {
  static inline std::atomic<unsigned> seed = 0, round = 0;
  static inline thread_local std::string error;  ///< the last that was posted in this thread
};

/// A thread's latest step.
struct Step {
  const char *thread, *what;
  int number;
};

class Random {
 public:
  Random(const char* thread, unsigned number) : thread_(thread) {
    std::seed_seq seed{ChaosRun::seed.load(), ChaosRun::round.load(), number};
    engine_.seed(seed);
  }

  /// From 0 to n - 1.
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool once_in(int n) { return below(n) == 0; }
  double fraction() { return engine_() / 4294967296.0; }
  guint64 bits() { return guint64{engine_()} << 32 | engine_(); }
  const auto& of(const auto& items) { return items[below(static_cast<int>(std::size(items)))]; }

  /// A step begins. With XCORR_CHAOS_TALKS each is printed.
  void step(const char* what) {
    static const bool talks = g_getenv("XCORR_CHAOS_TALKS") != nullptr;
    ++steps_;
    last = {thread_, what, steps_};
    if (talks)
      std::fprintf(stderr, "round %u, %s, step %d: %s\n", ChaosRun::round.load(), thread_, steps_,
                   what);
  }

  static inline thread_local Step last{"main", "settling", 0};

 private:
  const char* thread_;
  std::mt19937 engine_;
  int steps_ = 0;
};

/// Says what is wrong, with the seed and the step, and ends the process: an orderly end would wait
/// for the other threads.
[[noreturn]] inline void chaos_fails(const char* text) {
  const Step& last = Random::last;
  std::fprintf(stderr, "FAILED: %s (seed %u, round %u, %s, step %d: %s)\n", text,
               ChaosRun::seed.load(), ChaosRun::round.load(), last.thread, last.number, last.what);
  std::_Exit(1);
}

#define chaos_unless(condition, ...)                         \
  do {                                                       \
    if (!(condition)) {                                      \
      g_autofree gchar* text = g_strdup_printf(__VA_ARGS__); \
      chaos_fails(text);                                     \
    }                                                        \
  } while (false)
