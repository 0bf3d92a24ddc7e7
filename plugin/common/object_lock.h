// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GStreamer's object lock, held for a scope. It guards what the application sets and reads while
// frames flow; nothing is posted and nothing slow is done while it is held.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

class ObjectLock {
 public:
  explicit ObjectLock(gpointer object) : object_(GST_OBJECT_CAST(object)) {
    GST_OBJECT_LOCK(object_);
  }
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }
  ObjectLock(const ObjectLock&) = delete;

 private:
  GstObject* object_;
};

template <class Guarded>
Guarded copy_under_lock(gpointer object, const Guarded& guarded) {
  const ObjectLock lock(object);
  return guarded;
}

}  // namespace cudaxcorr
