// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GLib makes mutexes, conditions and GOnce of futexes, GStreamer counts references by atomic
// operations, and neither is instrumented: ThreadSanitizer would not see what they put in order and
// report races where there is none. These functions, preloaded, stand in front of theirs and tell
// it. (GRecMutex and GRWLock are made of pthread's, which it knows.)
#include <dlfcn.h>

#include <gst/gst.h>
#include <sanitizer/tsan_interface.h>

namespace {

/// The function behind the one of that name here.
#define BEHIND(function)                                                      \
  ([] {                                                                       \
    static const auto behind =                                                \
        reinterpret_cast<decltype(&(function))>(dlsym(RTLD_NEXT, #function)); \
    return behind;                                                            \
  }())

/// From here on this thread knows what others did before they released it.
void acquire(volatile void* lock) { __tsan_acquire(const_cast<void*>(lock)); }
void release(volatile void* lock) { __tsan_release(const_cast<void*>(lock)); }

/// A count that goes down is both: whoever takes the last reference knows what all others did.
void count_down(void* object) {
  acquire(object);
  release(object);
}

}  // namespace

extern "C" {

void g_mutex_lock(GMutex* mutex) {
  BEHIND(g_mutex_lock)(mutex);
  acquire(mutex);
}
gboolean g_mutex_trylock(GMutex* mutex) {
  const gboolean locked = BEHIND(g_mutex_trylock)(mutex);
  if (locked) acquire(mutex);
  return locked;
}
void g_mutex_unlock(GMutex* mutex) {
  release(mutex);
  BEHIND(g_mutex_unlock)(mutex);
}

void g_cond_wait(GCond* cond, GMutex* mutex) {
  release(mutex);
  BEHIND(g_cond_wait)(cond, mutex);
  acquire(mutex);
}
gboolean g_cond_wait_until(GCond* cond, GMutex* mutex, gint64 end) {
  release(mutex);
  const gboolean signalled = BEHIND(g_cond_wait_until)(cond, mutex, end);
  acquire(mutex);
  return signalled;
}

gboolean(g_once_init_enter)(volatile void* location) {
  const gboolean first = BEHIND(g_once_init_enter)(location);
  acquire(location);
  return first;
}
void(g_once_init_leave)(volatile void* location, gsize result) {
  release(location);
  BEHIND(g_once_init_leave)(location, result);
}

void gst_mini_object_unref(GstMiniObject* object) {
  count_down(object);
  BEHIND(gst_mini_object_unref)(object);
}
void g_object_unref(gpointer object) {
  count_down(object);
  BEHIND(g_object_unref)(object);
}
void gst_object_unref(gpointer object) {
  count_down(object);
  BEHIND(gst_object_unref)(object);
}

}  // extern "C"
