// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/folder_watch.h"

#include <utility>

#include <gio/gio.h>

namespace cudaxcorr {
namespace {

/// A copy of many files, or of a large one, is one change.
constexpr guint quiet_ms = 200;

}  // namespace

/// Of the watch and of its thread.
struct FolderWatch::Shared {
  std::string folder;
  std::function<void()> changed;
  std::function<void(std::string)> failed;
  GMainContext* context = g_main_context_new();
  GMainLoop* loop = g_main_loop_new(context, FALSE);
  GSource* timer = nullptr;  ///< of the thread: runs until the folder is quiet

  ~Shared() {
    g_main_loop_unref(loop);
    g_main_context_unref(context);
  }

  void stop_timer() {
    if (!timer) return;
    g_source_destroy(timer);
    g_source_unref(std::exchange(timer, nullptr));
  }
  void restart_timer() {
    stop_timer();
    timer = g_timeout_source_new(quiet_ms);
    g_source_set_callback(
        timer,
        [](gpointer data) -> gboolean {
          auto* self = static_cast<Shared*>(data);
          self->stop_timer();
          self->changed();
          return G_SOURCE_REMOVE;
        },
        this, nullptr);
    g_source_attach(timer, context);
  }
  void run();
};

void FolderWatch::Shared::run() {
  g_main_context_push_thread_default(context);
  GFile* file = g_file_new_for_path(folder.c_str());
  GError* error = nullptr;
  GFileMonitor* monitor =
      g_file_monitor_directory(file, G_FILE_MONITOR_WATCH_MOVES, nullptr, &error);
  if (monitor)
    g_signal_connect_swapped(monitor, "changed",
                             G_CALLBACK(+[](Shared* self) { self->restart_timer(); }), this);
  else
    failed(error->message);
  g_clear_error(&error);
  restart_timer();  // it may have changed before it was watched
  g_main_loop_run(loop);
  stop_timer();
  g_clear_object(&monitor);
  g_object_unref(file);
  g_main_context_pop_thread_default(context);
}

FolderWatch::FolderWatch(std::string folder, std::function<void()> changed,
                         std::function<void(std::string)> failed)
    : shared_(new Shared{std::move(folder), std::move(changed), std::move(failed)}),
      thread_([shared = shared_] { shared->run(); }) {}

FolderWatch::~FolderWatch() {
  // By the loop itself, which may not run yet.
  GSource* quit = g_idle_source_new();
  g_source_set_callback(
      quit,
      [](gpointer loop) -> gboolean {
        g_main_loop_quit(static_cast<GMainLoop*>(loop));
        return G_SOURCE_REMOVE;
      },
      shared_->loop, nullptr);
  g_source_attach(quit, shared_->context);
  g_source_unref(quit);
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

const std::string& FolderWatch::folder() const { return shared_->folder; }

}  // namespace cudaxcorr
