// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One stream of pipeline_bench: appsrc ! cudaxcorr ! fakesink. Frames lie in buffers of the pool
// that the element proposes, or ordinary ones, drawn beforehand, and go round. The source gives
// them as fast as they are taken or, live, at a rate; the sink looks at every result. All of a lane
// runs in its streaming thread.
#pragma once

#include <cstdint>
#include <functional>
#include <latch>
#include <string>
#include <vector>

#include <gst/app/gstappsrc.h>

#include "scene.hpp"

namespace bench {

struct LaneSettings {
  int frames = 0;
  int rate = 0;         ///< frames per second of a live source; 0: as fast as they are taken
  std::string element;  ///< cudaxcorr's properties, as for gst-launch-1.0
  bool ordinary_memory = false;  ///< of frames, instead of the pool that cudaxcorr proposes
  /// Called before each frame is given.
  std::function<void(GstElement* element, int frame)> before_frame;
};

/// Of all frames, and the times without those at first.
struct LaneResult {
  int frames = 0;  ///< that came to the sink
  int unanalysed = 0;
  int wrong = 0;                          ///< the patch was not found where it is
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of the clock now_ns()
  int timed = 0;                          ///< frames that came between the two
  std::vector<double> added_ms;           ///< from entering the element to leaving it
  std::string kernel;
};

std::int64_t now_ns();

class Lane {
 public:
  static constexpr int warm_up = 20;  ///< frames that are not timed: what is made late is made then

  /// Adds the elements to the pipeline. Frames are timed when all lanes have come to `ready`.
  Lane(GstBin* pipeline, const Scene& scene, LaneSettings settings, std::latch& ready);
  ~Lane();
  Lane(const Lane&) = delete;

  /// After the end of the stream.
  LaneResult result() const;

 private:
  void give();
  void prepare();
  void probe(GstElement* element, const char* pad, GstPadProbeCallback callback);
  GstClockTime time_of(int frame) const;
  void wait_until(GstClockTime running_time);
  void check(GstBuffer* buffer);

  const Scene& scene_;
  const LaneSettings settings_;
  std::latch& ready_;
  GstElement *source_, *element_, *sink_;
  std::vector<GstBuffer*> buffers_;
  int given_ = 0;
  int first_paced_ = 0;           ///< the frame at `epoch_`
  GstClockTime epoch_ = 0;        ///< running time
  std::vector<std::int64_t> ns_;  ///< a frame: when it entered, then how long it stayed
  LaneResult result_;
};

}  // namespace bench
