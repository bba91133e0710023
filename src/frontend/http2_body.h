// The request body of an HTTP/2 stream: what the client sent and the handler has not used yet, in chunks, bounded by
// the stream's window. Enforces the body limit, the idle deadline and the minimum rate, as Http1Body does. Owned by its
// stream; worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/frontend/body_rules.h"
#include "src/frontend/signal.h"
#include "src/http/body_source.h"
#include "src/http/exchange.h"
#include "src/net/chunk_pool.h"

namespace pontage::frontend {

// Who wants to know what the body's reader does: the stream.
class Http2BodyOwner {
 public:
  // `bytes` were used: the client may send as many more.
  virtual void on_body_used(std::size_t bytes) noexcept = 0;
  // Somebody waits for a body of which nothing has come: send "100 Continue" if the client wants it.
  virtual void on_body_wanted() noexcept = 0;

 protected:
  ~Http2BodyOwner() = default;
};

class Http2Body final : public http::BodySource {
 public:
  void start(Http2BodyOwner& owner, http::Exchange& exchange) noexcept;
  void set_rules(const BodyRules& rules) noexcept { rules_ = rules; }

  // Bytes from the client; how many of them were kept: fewer when there is no memory.
  std::size_t append(std::string_view data) noexcept;
  void end() noexcept;
  // Nothing more will come.
  void fail(const util::Error& error) noexcept;
  // Forgets what is held, which counts as used.
  void clear() noexcept;

  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override {}

 private:
  enum class State : std::uint8_t { open, ended, failed };
  struct Part {
    net::Chunk chunk;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  bool add_part() noexcept;
  void release() noexcept;
  util::Result<void> hand_out(http::BodyBatch& batch, std::size_t budget);

  Http2BodyOwner* owner_ = nullptr;
  http::Exchange* exchange_ = nullptr;
  std::vector<Part> parts_;
  std::size_t first_ = 0;  // the first part that holds something
  std::size_t held_ = 0;   // bytes in all parts, what was handed out included
  std::size_t given_ = 0;  // handed out by the last pull
  BodyRules rules_;
  std::uint64_t bytes_ = 0;
  std::uint64_t waited_ms_ = 0;
  State state_ = State::open;
  util::Error error_;
  Signal news_;
};

}  // namespace pontage::frontend
