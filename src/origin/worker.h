// Worker: one thread of the origin with its reactor, its listening sockets and its sessions. Owned by Origin; start()
// and stop_and_join() are called by the owner's thread, everything else by the worker's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "protocols/message/http_date.h"
#include "src/net/acceptor.h"
#include "src/net/reactor.h"
#include "src/origin/session.h"
#include "src/util/intrusive_list.h"

namespace pontage::origin {

class App;

enum class Protocol : std::uint8_t { http, ajp, fastcgi, scgi, uwsgi };
std::string_view name_of(Protocol protocol) noexcept;

class Worker {
 public:
  // `app` is shared by all workers and outlives them. Throws std::system_error when the kernel refuses a reactor.
  Worker(unsigned id, App& app);
  ~Worker();

  // Before start().
  void open(Protocol protocol, util::UniqueFd listener);
  void start();
  // Ends every session and waits for the thread.
  void stop_and_join();

  net::Reactor& reactor() noexcept { return reactor_; }
  App& app() noexcept { return *app_; }
  std::unique_ptr<Work> take_work();
  void give_back(std::unique_ptr<Work> work) noexcept;
  // The session has ended and is destroyed here.
  void remove(Session& session) noexcept;
  // Of this second.
  std::string_view date() noexcept;

 private:
  void accept(Protocol protocol, util::UniqueFd fd);
  void end_all();

  net::Reactor reactor_;
  App* app_;
  std::vector<std::unique_ptr<net::Acceptor>> acceptors_;
  std::vector<std::unique_ptr<Work>> spare_;
  util::IntrusiveList<Session> sessions_;
  message::HttpDate date_{};
  std::int64_t date_second_ = -1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace pontage::origin
