// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Redis server of the test's own on a Unix socket, which can be killed, stopped and started again
// with what it had, and a client to look into it.
#pragma once

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <hiredis.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listener.hpp"
#include "support.hpp"

/// A key and a certificate that nobody has signed but itself.
struct Certificate {
  std::string certificate, key;  ///< files

  /// For that host; without `openssl` there are no files.
  explicit Certificate(const std::string& host)
      : certificate(temporary(host + ".crt")), key(temporary(host + ".key")) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
        host + " -addext subjectAltName=DNS:" + host + " -out " + certificate + " -keyout " + key;
    g_spawn_command_line_sync(command.c_str(), nullptr, nullptr, nullptr, nullptr);
  }
};

/// An entry of a stream.
struct StreamEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;

  std::string field(const std::string& name) const {
    for (const auto& [field, value] : fields)
      if (field == name) return value;
    return "";
  }
};

class RedisServer {
 public:
  /// Not started yet.
  RedisServer() : folder_(temporary("redis")) { mkdir(folder_.c_str(), 0700); }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer&) = delete;

  static bool exists() {
    gchar* path = g_find_program_in_path("redis-server");
    const bool found = path != nullptr;
    g_free(path);
    return found;
  }

  /// The element's property.
  std::string address() const { return "unix:" + socket(); }

  /// What it confirms it has on disk.
  void start(const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      "0",
                                      "--unixsocket",
                                      socket(),
                                      "--dir",
                                      folder_,
                                      "--appendonly",
                                      "yes",
                                      "--appendfsync",
                                      "always",
                                      "--save",
                                      ""};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
      unsetenv("LD_PRELOAD");  // a sanitizer's runtime is for this program
      const int null = open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    while (!ask({"PING"}, false)) g_usleep(10000);
  }
  void kill() {
    if (process_ < 0) return;
    signal(SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  /// Besides, takes connections by TLS. Gives the port.
  int start_with_tls(const Certificate& own) {
    const int port = Listener().port();
    start({"--tls-port", std::to_string(port), "--tls-auth-clients", "no", "--tls-cert-file",
           own.certificate, "--tls-key-file", own.key});
    return port;
  }
  void signal(int number) const { ::kill(process_, number); }

  /// Sends a command. Expects no error.
  void tell(const std::vector<const char*>& words) { fail_unless(ask(words, true)); }

  std::vector<StreamEntry> entries(const std::string& stream) {
    std::vector<StreamEntry> entries;
    const Reply reply = ask({"XRANGE", stream.c_str(), "-", "+"}, true);
    for (std::size_t i = 0; i < reply->elements; ++i) {
      const redisReply* entry = reply->element[i];
      entries.push_back({entry->element[0]->str, {}});
      const redisReply* fields = entry->element[1];
      for (std::size_t j = 0; j + 1 < fields->elements; j += 2)
        entries.back().fields.emplace_back(fields->element[j]->str, fields->element[j + 1]->str);
    }
    return entries;
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  std::string socket() const { return folder_ + "/socket"; }

  /// Null if it does not answer, or fails the test then.
  Reply ask(std::vector<const char*> words, bool must) {
    const std::unique_ptr<redisContext, Free> context(redisConnectUnix(socket().c_str()));
    Reply reply;
    if (!password.empty() && !context->err)
      reply.reset(
          static_cast<redisReply*>(redisCommand(context.get(), "AUTH %s", password.c_str())));
    if (!context->err)
      reply.reset(static_cast<redisReply*>(
          redisCommandArgv(context.get(), static_cast<int>(words.size()), words.data(), nullptr)));
    if (reply && reply->type == REDIS_REPLY_ERROR) {
      fail_if(must, "%s", reply->str);
      reply.reset();
    }
    fail_if(must && !reply, "the server does not answer: %s", context->errstr);
    return reply;
  }

  const std::string folder_;
  pid_t process_ = -1;

 public:
  std::string password;  ///< of the client
};
