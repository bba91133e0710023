// The admin listener: GET /metrics, /healthz and /readyz for Prometheus and load balancers. Reads nothing but the
// request line and headers (8 KiB at most, within 5 s), serves at most 64 connections at once. Control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/admin/asio.h"

namespace pontage::admin {

struct AdminPages {
  std::function<std::string()> metrics;  // the exposition text
  std::function<bool()> ready;
};

class AdminServer {
 public:
  AdminServer(asio::io_context& loop, AdminPages pages);
  ~AdminServer();

  // False with a sentence in `error` when the address cannot be bound. May be called again with another address: the
  // old one closes.
  bool listen(const std::string& bind, std::string& error);
  // "127.0.0.1:9145"; empty when not listening.
  std::string address() const;
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pontage::admin
