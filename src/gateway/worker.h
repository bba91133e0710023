// Worker: one thread with one reactor and everything it serves: sessions, buffers, counters. Made and commanded by the
// Gateway on the control thread; everything else happens on its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "src/frontend/session_host.h"
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
         ConnectionCount& count);
  ~Worker();

  net::Reactor& reactor() noexcept { return reactor_; }
  // Starts the thread; a site must have been given before.
  void start();
  // Ends the loop and joins; sessions that are left are abandoned.
  void stop_and_join();

  // From the control thread; they take effect in the worker's next turn (before start(), at once).
  void set_site(std::shared_ptr<const routing::Site> site);
  // `hand_over` deals accepted descriptors of a listener that only this worker accepts; empty: it keeps them.
  struct ListenerSocket {
    std::string key;  // the bind text
    std::uint16_t metric_id = 0;
    config::Listener::HalfClose half_close = config::Listener::HalfClose::refuse;
    std::function<void(util::UniqueFd, const net::Address&)> hand_over;
  };
  void open_listener(ListenerSocket listener, util::UniqueFd socket);
  void close_listener(const std::string& key);
  void adopt(const ListenerSocket& listener, util::UniqueFd fd, const net::Address& peer);
  void close_all_listeners();
  void drain(std::function<void()> empty);
  void cancel_all();
  void cancel_older_than(std::uint64_t generation);

 private:
  void on_worker(std::function<void()> work);
  void accept(const ListenerSocket& listener, util::UniqueFd fd, const net::Address& peer);

  net::Reactor reactor_;
  frontend::SessionHost host_;
  observe::Metrics* metrics_;
  ConnectionCount* count_;
  observe::HistogramId loop_lag_;
  std::map<std::string, std::unique_ptr<net::Acceptor>> acceptors_;
  std::map<std::uint16_t, observe::SeriesId> connection_series_;
  std::thread thread_;
};

}  // namespace pontage::gateway
