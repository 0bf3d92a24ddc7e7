// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A decoder that fails may forget the frame it was working on, as pngdec does with a damaged file:
// the image's memory leaks, and so do the descriptors of its pool. This remembers the frames that
// decoders hold until the pipeline has stopped, and then empties them.
#pragma once

#include <vector>

#include <gst/video/gstvideodecoder.h>

namespace cudaxcorr {

class UnreleasedFrames {
 public:
  /// Of a pipeline that has failed.
  explicit UnreleasedFrames(GstElement* pipeline) {
    GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
    const auto take = [](const GValue* element, gpointer self) {
      if (GST_IS_VIDEO_DECODER(g_value_get_object(element)))
        static_cast<UnreleasedFrames*>(self)->take_from(
            GST_VIDEO_DECODER(g_value_get_object(element)));
    };
    gst_iterator_foreach(elements, take, this);
    gst_iterator_free(elements);
  }
  /// When it has stopped.
  ~UnreleasedFrames() {
    for (GstVideoCodecFrame* frame : frames_) {
      gst_clear_buffer(&frame->input_buffer);
      gst_clear_buffer(&frame->output_buffer);
      gst_video_codec_frame_unref(frame);
    }
  }
  UnreleasedFrames(const UnreleasedFrames&) = delete;

 private:
  /// A decoder that goes on working holds its lock, which is not waited for.
  void take_from(GstVideoDecoder* decoder) {
    for (int i = 0; !g_rec_mutex_trylock(&decoder->stream_lock); ++i) {
      if (i == 50) return;
      g_usleep(1000);
    }
    GList* frames = gst_video_decoder_get_frames(decoder);
    g_rec_mutex_unlock(&decoder->stream_lock);
    for (const GList* item = frames; item; item = item->next)
      frames_.push_back(static_cast<GstVideoCodecFrame*>(item->data));
    g_list_free(frames);
  }

  std::vector<GstVideoCodecFrame*> frames_;
};

}  // namespace cudaxcorr
