// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is around the element in the test `chaos`: a source that sends frames and whatever else
// comes in a stream, and a sink that keeps account of them. A frame may be missing only after a
// flush or a stop; each must come out in order and as it went in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "chaos_random.hpp"
#include "moving_patch.hpp"

/// A sink pad that takes any caps.
GstPad* new_chaos_sink();

/// The element's pads linked with the test's.
class ChaosStream {
 public:
  explicit ChaosStream(GstElement* element);
  ~ChaosStream();
  ChaosStream(const ChaosStream&) = delete;

  // ---- of the streaming thread -------------------------------------------------------------

  /// Frames, and at random what comes between them, until end().
  void run(Random random);
  /// A new stream in that format.
  void begin(GstVideoFormat format, int width, int height);
  /// One frame. `kept`: what comes out can be taken by taken().
  GstFlowReturn push(Place place, Random& random, bool kept = false);
  bool push(GstEvent* event) { return gst_pad_push_event(source_, event); }
  /// All frames leave the element.
  void drain();

  // ---- of other threads --------------------------------------------------------------------

  void end() { ended_ = true; }
  /// The element is going to be stopped or to flush.
  void interrupt() { interrupted_ = true; }
  /// It has been, or does. Returns when the source has met that.
  void wait_for_source();
  /// What the source does next, after wait_for_source().
  enum class Next { start, stop_flushing };
  void go_on(Next next);
  GstPad* source() { return source_; }
  GstPad* sink() { return sink_; }
  guint64 frames() const { return frames_; }
  std::vector<GstBuffer*> taken();

 private:
  struct Sent {
    guint checksum;
    GstClockTime pts, dts, duration;
    bool kept;
  };

  static GstFlowReturn chain(GstPad* pad, GstObject*, GstBuffer* buffer);
  static gboolean drop_event(GstPad*, GstObject*, GstEvent* event);
  static gboolean answer(GstPad* pad, GstObject* parent, GstQuery* query);
  void arrived(GstBuffer* buffer);
  void forgive();
  void park();
  void begin_segment();
  void something_else(Random& random);
  void query(Random& random);

  GstPad *source_, *sink_;
  GstVideoFormat format_ = GST_VIDEO_FORMAT_GRAY8;
  int width_ = 0, height_ = 0;
  bool begun_ = false;  ///< in a format; false: a flush has stopped that
  Gray background_{1, 1}, patch_ = texture(patch_size, patch_size, 50);
  std::atomic<bool> ended_ = false, interrupted_ = false;
  std::atomic<guint64> frames_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool parked_ = false;
  std::optional<Next> next_;
  std::map<guint64, Sent> on_the_way_;
  guint64 forgiven_ = 0;  ///< frames before this one may be missing
  std::vector<GstBuffer*> taken_;
};
