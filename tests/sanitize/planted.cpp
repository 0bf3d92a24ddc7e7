// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Faults that a sanitizer must tell of, and what it must not take for one, in a library that is
// loaded as the plugin is.
#include <climits>
#include <thread>

#include <glib.h>

namespace {

volatile int number = INT_MAX;
volatile int numbers[1000];
GMutex mutex;

/// Two threads count, each by `add`.
template <class Add>
void count(Add add) {
  std::thread other(add);
  add();
  other.join();
}

}  // namespace

extern "C" {

void overrun() {
  volatile auto* bytes = static_cast<guint8*>(g_malloc(number % 100));
  number = bytes[number % 100];
  g_free(const_cast<guint8*>(bytes));
}

void leak() { number = *static_cast<guint8*>(g_malloc0(number % 100)); }

void overflow() { number = number + 1; }

// Many of them: ThreadSanitizer misses two writes at the very same moment.
void race() {
  count([] {
    for (volatile int& each : numbers) each = 1;
  });
}

void locks() {
  count([] {
    g_mutex_lock(&mutex);
    number = 1;
    g_mutex_unlock(&mutex);
  });
}
}
