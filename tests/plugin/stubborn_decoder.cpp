// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stubborn_decoder.hpp"

#include <atomic>
#include <cstring>

#include <gst/video/gstvideodecoder.h>

#include "support.hpp"

namespace stubborn_decoder {
namespace {

constexpr char signature[] = "STUBBORN ";

std::atomic<bool> released = false, allocated = false;

struct Decoder {
  GstVideoDecoder parent;
  bool stops;
};
struct DecoderClass {
  GstVideoDecoderClass parent;
};

G_DEFINE_TYPE(Decoder, decoder, GST_TYPE_VIDEO_DECODER)

std::string text_of(GstBuffer* buffer) {
  char text[32] = {};
  gst_buffer_extract(buffer, 0, text, sizeof text - 1);
  return text + std::strlen(signature);
}

GstFlowReturn handle_frame(GstVideoDecoder* base, GstVideoCodecFrame* frame) {
  auto* self = reinterpret_cast<Decoder*>(base);
  const std::string does = text_of(frame->input_buffer);
  if (does == "is large") {
    gst_video_codec_state_unref(
        gst_video_decoder_set_output_state(base, GST_VIDEO_FORMAT_RGBA, 16384, 16384, nullptr));
    allocated = gst_video_decoder_allocate_output_frame(base, frame) == GST_FLOW_OK;
    gst_video_codec_frame_unref(frame);
    return GST_FLOW_ERROR;
  }
  gst_video_codec_frame_unref(frame);
  self->stops = does != "does not stop";
  while (self->stops && !released)
    if (does == "blocks") g_usleep(10'000);
  GST_ELEMENT_ERROR(self, STREAM, DECODE, ("it does not decode"), (nullptr));
  return GST_FLOW_ERROR;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  const auto* self = reinterpret_cast<const Decoder*>(element);
  while (change == GST_STATE_CHANGE_PAUSED_TO_READY && !self->stops && !released) g_usleep(10'000);
  return GST_ELEMENT_CLASS(decoder_parent_class)->change_state(element, change);
}

GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                             GST_STATIC_CAPS("image/x-stubborn"));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw"));

void decoder_class_init(DecoderClass* klass) {
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  element_class->change_state = change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(element_class, "Stubborn decoder", "Codec/Decoder/Image",
                                        "Does not end", "The cudaxcorr authors");
  GST_VIDEO_DECODER_CLASS(klass)->handle_frame = handle_frame;
}

void decoder_init(Decoder* self) {
  self->stops = true;
  gst_video_decoder_set_packetized(&self->parent, TRUE);
}

void find_type(GstTypeFind* find, gpointer) {
  const guint8* bytes = gst_type_find_peek(find, 0, sizeof signature - 1);
  if (bytes && std::memcmp(bytes, signature, sizeof signature - 1) == 0)
    gst_type_find_suggest_empty_simple(find, GST_TYPE_FIND_MAXIMUM, "image/x-stubborn");
}

}  // namespace

void install() {
  gst_type_find_register(nullptr, "stubborn", GST_RANK_PRIMARY, find_type, nullptr, nullptr,
                         nullptr, nullptr);
  gst_element_register(nullptr, "stubborndec", GST_RANK_PRIMARY, decoder_get_type());
}

std::string file_that(const std::string& does) {
  const std::string path = temporary(does);
  write_file(path, signature + does);
  return path;
}

void release() { released = true; }

bool has_allocated() { return allocated; }

}  // namespace stubborn_decoder
