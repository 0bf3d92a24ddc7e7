// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/fault.h"

#include "common/utf8.h"

namespace cudaxcorr {
namespace {

void post(gpointer element, GstMessageType type, const Fault& fault) {
  gst_element_message_full(GST_ELEMENT(element), type, fault.domain, fault.code,
                           g_strdup(valid_utf8(fault.text).c_str()), nullptr, fault.where.file,
                           fault.where.function, fault.where.line);
}

}  // namespace

Fault fault_of(const xcorr::Status& status, Where where) {
  const std::string& text = status.message();
  switch (status.code()) {
    case xcorr::Code::not_found:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, text, where};
    case xcorr::Code::out_of_memory:
    case xcorr::Code::over_budget:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT, text, where};
    case xcorr::Code::invalid_argument:
      return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, text, where};
    case xcorr::Code::unsupported:
      return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, text, where};
    case xcorr::Code::device_error:
    case xcorr::Code::stopped:
    case xcorr::Code::ok:
      break;
  }
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED, text, where};
}

void post_error(gpointer element, const Fault& fault) { post(element, GST_MESSAGE_ERROR, fault); }
void post_warning(gpointer element, const Fault& fault) {
  post(element, GST_MESSAGE_WARNING, fault);
}

}  // namespace cudaxcorr
