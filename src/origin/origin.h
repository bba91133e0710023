// Origin: the reference application server, over HTTP/1.1, AJP, FastCGI, SCGI and uwsgi, on threads of its own:
// the server that `pontage origin` runs, that cost measurements subtract, and that tests inject faults with. Owned by
// whoever makes it; its functions are for that thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/net/address.h"
#include "src/origin/app.h"
#include "src/origin/options.h"
#include "src/origin/worker.h"

namespace pontage::origin {

class Origin {
 public:
  struct Bound {
    Protocol protocol;
    std::string address;  // as bound: the real port of ":0"
  };

  // Listens and serves at once. Throws std::runtime_error with a sentence when an address cannot be bound.
  explicit Origin(OriginOptions options = {});
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  // Ends every connection and waits for the threads.
  ~Origin();

  const std::vector<Bound>& listeners() const noexcept { return listeners_; }
  // The first listener of that protocol, e.g. "127.0.0.1:34567"; empty when there is none.
  std::string http_address() const { return address_of(Protocol::http); }
  std::string ajp_address() const { return address_of(Protocol::ajp); }
  std::string address_of(Protocol protocol) const;
  // "origin: http 127.0.0.1:34567\n" for each listener.
  std::string lines() const;

 private:
  void open(Protocol protocol, const std::string& bind);

  App app_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Bound> listeners_;
};

// `pontage origin`: prints a line for each listener to stdout and to options.ready_fd, and serves until SIGTERM or
// SIGINT. Returns the exit code: 0, or 1 with a sentence on stderr when an address cannot be bound. Call it before
// other threads are started: it blocks the signals.
int run_origin(const OriginOptions& options);

}  // namespace pontage::origin
