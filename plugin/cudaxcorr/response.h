// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pad `response`: a gray video of what one template scores at every place, of the frames' size,
// for tuning thresholds by eye. It may come and go while frames flow: the application's threads add
// and remove it, the streaming thread pushes, and a mutex guards which pad there is. What a new pad
// has to be told first (stream, caps, segment) the streaming thread sends before anything else.
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

  /// The element's always pads, once, before all else.
  void set_element_pads(GstPad* sink, GstPad* src);

  // ---- any thread ---------------------------------------------------------------------------

  /// Null when there is one already.
  GstPad* add(GstElement* element, GstPadTemplate* pad_template);
  void remove(GstElement* element, GstPad* pad);
  /// Whether there is a pad, and so whether pictures are worth their computing.
  bool exists();

  // ---- the streaming thread, but for flushes ------------------------------------------------

  /// Nothing has been sent yet.
  void restart();
  void set_format(const GstVideoInfo& frames);
  /// Takes its part of what came to the sink pad.
  void handle_event(GstEvent* event);
  /// The picture that goes with that frame, for the caller; null: it cannot be drawn. Pixel (x, y)
  /// is the score of a match whose top-left corner lies there: 255 times the greatest threshold
  /// that it reaches, 0 below and where none can lie.
  GstBuffer* draw(const xcorr::Response& response, GstBuffer* frame) const;
  /// Sends the picture, which it takes; without one, that there is nothing for the frame's time.
  void push(GstBuffer* frame, GstBuffer* picture);
  /// The flow of both streams, from the main one's.
  GstFlowReturn combine(GstFlowReturn flow);

 private:
  /// What the pad has not been told.
  struct Untold {
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
  Untold untold_;
  GstVideoInfo format_{};  ///< of the pictures
};

}  // namespace cudaxcorr
