#include "src/origin/origin.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "src/gateway/listeners.h"
#include "src/gateway/notify.h"

namespace pontage::origin {
namespace {

constexpr int kMaxThreads = 64;

struct Listening {
  Protocol protocol;
  std::vector<std::string> OriginOptions::*binds;
};

constexpr Listening kListening[] = {
    {Protocol::http, &OriginOptions::http},       {Protocol::ajp, &OriginOptions::ajp},
    {Protocol::fastcgi, &OriginOptions::fastcgi}, {Protocol::scgi, &OriginOptions::scgi},
    {Protocol::uwsgi, &OriginOptions::uwsgi},
};

OriginOptions with_defaults(OriginOptions options) {
  const auto none = [&](const Listening& one) { return (options.*one.binds).empty(); };
  if (std::all_of(std::begin(kListening), std::end(kListening), none)) {
    for (const auto& one : kListening) (options.*one.binds).emplace_back("127.0.0.1:0");
  }
  options.threads = std::clamp(options.threads, 1, kMaxThreads);
  return options;
}

}  // namespace

Origin::Origin(OriginOptions options) : app_(with_defaults(std::move(options))) {
  for (int i = 0; i < app_.options().threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(static_cast<unsigned>(i), app_));
  }
  for (const auto& one : kListening) {
    for (const auto& bind : app_.options().*one.binds) open(one.protocol, bind);
  }
  for (auto& worker : workers_) worker->start();
}

Origin::~Origin() {
  for (auto& worker : workers_) worker->stop_and_join();
  for (const Bound& bound : listeners_) {
    if (bound.address.starts_with("unix:")) ::unlink(bound.address.c_str() + 5);
  }
}

void Origin::open(Protocol protocol, const std::string& bind) {
  config::Listener listener;
  listener.bind = bind;
  gateway::OpenedListener opened;
  std::string error;
  if (!gateway::open_listener(listener, workers_.size(), {}, opened, error)) throw std::runtime_error(error);
  // A unix socket is one, and the first worker's.
  for (std::size_t i = 0; i < opened.sockets.size(); ++i) workers_[i]->open(protocol, std::move(opened.sockets[i]));
  listeners_.push_back({protocol, opened.address});
}

std::string Origin::address_of(Protocol protocol) const {
  for (const Bound& bound : listeners_) {
    if (bound.protocol == protocol) return bound.address;
  }
  return {};
}

std::string Origin::lines() const {
  std::string text;
  for (const Bound& bound : listeners_) {
    text += "origin: ";
    text += name_of(bound.protocol);
    text += ' ';
    text += bound.address;
    text += '\n';
  }
  return text;
}

int run_origin(const OriginOptions& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  try {
    const Origin origin(options);
    const std::string lines = origin.lines();
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    std::fflush(stdout);
    gateway::tell_ready(options.ready_fd, lines);
    int signal = 0;
    sigwait(&ends, &signal);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "pontage origin: %s\n", failure.what());
    return 1;
  }
}

}  // namespace pontage::origin
