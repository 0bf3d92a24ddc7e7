// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pad `response`: a gray video of one template's scores at every place, of the frames' size,
// for choosing thresholds by eye. It can be requested and released while frames flow: the
// application's threads add and remove it, the streaming thread pushes, and a mutex guards the
// pointer. The sticky events of a new pad (stream, caps, segment) are sent by the streaming thread
// before anything else.
#pragma once

#include <mutex>

#include <gst/base/gstflowcombiner.h>
#include <gst/video/video.h>

#include <xcorr/match.hpp>

namespace cudaxcorr {

extern GstStaticPadTemplate response_template;

class ResponsePad {
 public:
  ResponsePad() = default;
  ResponsePad(const ResponsePad&) = delete;
  ~ResponsePad();

  /// The element's always pads; called once, first.
  void set_element_pads(GstPad* sink, GstPad* src);

  // ---- any thread ---------------------------------------------------------------------------

  /// Null if the pad exists already.
  GstPad* add(GstElement* element, GstPadTemplate* pad_template);
  void remove(GstElement* element, GstPad* pad);
  /// Whether the pad exists, and so whether images are worth computing.
  bool exists();

  // ---- the streaming thread, but for flushes ------------------------------------------------

  /// The element starts: nothing has been sent yet.
  void restart();
  void set_format(const GstVideoInfo& frames);
  /// Forwards what concerns this pad of an event at the sink pad.
  void handle_event(GstEvent* event);
  /// The image for that frame, owned by the caller; null if it cannot be drawn. Pixel (x, y) is
  /// the score of a match with its top-left corner there: 255 times the highest threshold that it
  /// reaches, 0 below and where no match fits.
  GstBuffer* draw(const xcorr::Response& response, GstBuffer* frame) const;
  /// Pushes the image, taking ownership; without one a gap event for the frame's time.
  void push(GstBuffer* frame, GstBuffer* image);
  /// Combines the main stream's flow with this pad's.
  GstFlowReturn combine(GstFlowReturn flow);

 private:
  /// Sticky events that are still to be sent.
  struct Pending {
    bool stream = true, caps = true, segment = true;
  };

  GstPad* pad();
  bool announce(GstPad* pad);
  void push_event(GstEvent* event);
  void note_flow(GstPad* pad, GstFlowReturn flow);

  GstPad *sink_ = nullptr, *src_ = nullptr;
  std::mutex mutex_;  ///< guards the next three
  GstPad* pad_ = nullptr;
  GstFlowCombiner* combiner_ = gst_flow_combiner_new();
  Pending pending_;
  GstVideoInfo format_{};  ///< of the images
};

}  // namespace cudaxcorr
