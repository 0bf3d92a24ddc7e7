// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the targets of the elements share.
#pragma once

#include <string>

#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include "bytes.hpp"

/// Once: GStreamer with the plugin as it is linked in. A CRITICAL ends the program, warnings are
/// not printed.
void start_gstreamer();

/// A launch line's element `tested` in a harness, with a bus.
class Tested {
 public:
  explicit Tested(const char* launch);
  ~Tested();
  Tested(const Tested&) = delete;

  /// As in a launch line.
  void set(const char* property, const char* value) {
    gst_util_set_object_arg(G_OBJECT(element), property, value);
  }
  /// Whether an error has been posted; drops all messages.
  bool failed();
  void restart();

  GstHarness* harness;
  GstElement* element;

 private:
  GstBus* bus_;
};

/// A gray image of that size in which every place is different.
GstBuffer* make_image(int width, int height);
GstSample* make_sample(int width, int height);
