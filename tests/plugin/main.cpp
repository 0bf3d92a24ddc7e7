// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a file of tests, each in a fork unless CK_FORK=no. With XCORR_TEST_BACKEND=cuda they are run
// in this process, since each fork would start CUDA anew, which takes longer than most tests;
// without a GPU they are skipped: exit status 77.
#include <cstdio>
#include <cstring>

#include "support.hpp"

namespace {

std::vector<void (*)(TCase*)>& registered() {
  static std::vector<void (*)(TCase*)> all;
  return all;
}

Suite* suite() {
  Suite* suite = suite_create(g_get_prgname());
  TCase* cases = tcase_create("cases");
  suite_add_tcase(suite, cases);
  for (const auto add : registered()) add(cases);
  return suite;
}

/// Whether the element starts; prints why not.
bool starts() {
  GstElement* element = gst_element_factory_make("cudaxcorr", nullptr);
  if (!element) return true;  // the tests then fail and say so
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend());
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  const bool started = gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  if (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    std::printf("SKIPPED: no backend %s: %s\n", backend(), error->message);
    std::fflush(stdout);
    g_error_free(error);
    gst_message_unref(message);
  }
  share_context_of(started ? element : nullptr);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return started;
}

}  // namespace

Registered::Registered(void (*add)(TCase*)) { registered().push_back(add); }

int count_with(bool exists, const char* what, int count) {
  if (exists) return count;
  g_print("SKIPPED: there is no %s\n", what);
  return 0;
}

int main(int argc, char** argv) {
  if (std::strcmp(backend(), "cuda") == 0) g_setenv("CK_FORK", "no", TRUE);
  gst_check_init(&argc, &argv);
  if (std::strcmp(backend(), "cuda") == 0 && !starts()) return 77;
  return gst_check_run_suite(suite(), g_get_prgname(), __FILE__);
}
