// Worker: one thread with one reactor and everything it serves: sessions, buffers, counters. Made and commanded by the
// Gateway on the control thread; everything else happens on its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/frontend/session_host.h"
#include "src/gateway/listener_settings.h"
#include "src/net/acceptor.h"
#include "src/net/reactor.h"

namespace pontage::gateway {

// What all workers share about client connections.
struct ConnectionCount {
  std::atomic<int> open{0};
  std::atomic<int> limit{50000};
};

class Worker {
 public:
  Worker(unsigned id, observe::Metrics& metrics, const frontend::SessionSeries& series, observe::AccessRing& log,
         ConnectionCount& count, net::BlockingPool& disk);
  ~Worker();

  net::Reactor& reactor() noexcept { return reactor_; }
  // Starts the thread; a site must have been given before.
  void start();
  // Ends the loop and joins; sessions that are left are abandoned.
  void stop_and_join();

  // From the control thread; they take effect in the worker's next turn (before start(), at once).
  void set_site(std::shared_ptr<const routing::Site> site);
  // `hand_over` deals accepted descriptors of a listener that only this worker accepts; empty: it keeps them.
  using HandOver = std::function<void(const SettingsPtr&, util::UniqueFd, const net::Address&)>;
  // Called again for the same bind text, the listener has one more socket.
  void open_listener(const std::string& bind, SettingsPtr settings, util::UniqueFd socket, HandOver hand_over);
  // What is accepted from now on has these settings; nothing happens to the rest.
  void change_listener(const std::string& bind, SettingsPtr settings);
  void close_listener(const std::string& bind);
  void adopt(SettingsPtr settings, util::UniqueFd fd, const net::Address& peer);
  void close_all_listeners();
  void drain(std::function<void()> empty);
  void cancel_all();
  void cancel_older_than(std::uint64_t generation);

 private:
  struct Listening {
    SettingsPtr settings;
    HandOver hand_over;
    std::vector<std::unique_ptr<net::Acceptor>> acceptors{};
  };

  void on_worker(std::function<void()> work);
  void accept(const ListenerSettings& settings, util::UniqueFd fd, const net::Address& peer);
  void turn_away(const ListenerSettings& settings, int fd);
  void register_connections(const ListenerSettings& settings);

  net::Reactor reactor_;
  frontend::SessionHost host_;
  observe::Metrics* metrics_;
  ConnectionCount* count_;
  observe::HistogramId loop_lag_;
  std::map<std::string, std::unique_ptr<Listening>> listening_;  // by bind text
  // Connections that are open, by listener and protocol; the protocols are static texts.
  std::map<std::pair<std::uint16_t, std::string_view>, observe::SeriesId> connection_series_;
  std::thread thread_;
};

}  // namespace pontage::gateway
