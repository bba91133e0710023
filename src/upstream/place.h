// Place: one of the places in a server's pool, counted for what is no connection: a process that is being started, or
// one that outlives its connection. Given back once, by whoever has it last. Move-only; any thread.
#pragma once

#include <memory>
#include <utility>

#include "src/upstream/server.h"

namespace pontage::upstream {

class Place {
 public:
  Place() noexcept = default;
  // The one that acquire() granted.
  explicit Place(std::shared_ptr<BackendServer> server) noexcept : server_(std::move(server)) {}
  // The one of a connection, which goes before its process does.
  static Place of_connection(std::shared_ptr<BackendServer> server) noexcept {
    server->pool().hold();
    return Place(std::move(server));
  }
  Place(Place&&) noexcept = default;
  Place& operator=(Place&& other) noexcept {
    std::swap(server_, other.server_);
    return *this;
  }
  ~Place() {
    if (server_) server_->pool().forget();
  }

  // A connection counts for it from now on.
  void pass_on() noexcept { server_.reset(); }

 private:
  std::shared_ptr<BackendServer> server_;
};

}  // namespace pontage::upstream
