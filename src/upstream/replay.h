// A request body that can be sent again: what was pulled from the client is kept, up to 64 KiB, until the first byte of
// a response (ADAPTERS X14). Past that, or once told to stop, it only passes on. Lives in the exchange's arena;
// worker's thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocols/message/arena.h"
#include "src/http/body_source.h"

namespace pontage::upstream {

class ReplayBody final : public http::BodySource {
 public:
  static constexpr std::size_t kMost = 64 * 1024;

  ReplayBody(http::BodySource& source, message::Arena& arena) noexcept : source_(&source), arena_(&arena) {}

  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override {}

  // False when more was sent than was kept: no second try.
  bool rewindable() const noexcept { return !overflowed_; }
  void rewind() noexcept {
    next_ = first_;
    offset_ = 0;
  }

 private:
  struct Kept {
    std::string_view bytes;
    Kept* next = nullptr;
  };
  void keep(const http::BodyBatch& batch);

  http::BodySource* source_;
  message::Arena* arena_;
  Kept* first_ = nullptr;
  Kept* last_ = nullptr;
  Kept* next_ = nullptr;  // what rewind() made due again, from offset_ on
  std::size_t offset_ = 0;
  std::size_t kept_ = 0;
  bool ended_ = false;  // the source gave its last batch
  bool overflowed_ = false;
};

}  // namespace pontage::upstream
