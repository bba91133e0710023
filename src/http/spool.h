// A body taken in before it is passed on: a slow client holds no connection to a server, whether it sends or reads, and
// a body that came without a length gets one. The first bytes wait in memory, the rest in a file without a name; then
// it is a body source like any other, from the first byte as often as wanted. The disk is waited for on the blocking
// pool, which outlives the spool. Trailers are its taker's to keep. Worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/http/body_source.h"
#include "src/net/blocking_pool.h"
#include "src/net/reactor.h"

namespace pontage::http {

struct SpoolPolicy {
  std::string folder;              // of the files
  std::size_t memory = 64 * 1024;  // bytes of one body that are not in its file
};

namespace detail {
struct SpoolFile;
// A new file in `folder` that has no name any more when this returns; -1 with errno. Waits for the disk. The first asks
// for one that never had a name and takes the second's way where the file system has none.
int open_nameless(const std::string& folder) noexcept;
int open_unlinked(const std::string& folder) noexcept;
}  // namespace detail

class Spool final : public BodySource {
 public:
  enum class Until : std::uint8_t { memory, flush, end };

  Spool(net::Reactor& reactor, net::BlockingPool& pool, const SpoolPolicy& policy)
      : reactor_(&reactor), pool_(&pool), policy_(policy) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  ~Spool();

  // Takes from `source` until it has ended or, with Until::memory, at most as much as is kept in memory. True when it
  // has ended; when not, another call goes on. With Until::flush it also stops where the source wants what came so far
  // on its way, and behind `most` bytes. After an error every later take and pull gives that error again.
  net::Task<util::Result<bool>> take(BodySource& source, Until until, std::uint64_t most = kNoLimit);
  // Those of the last batch taken; valid as long as the source.
  const message::HeaderList* trailers() const noexcept { return trailers_; }

  std::uint64_t size() const noexcept { return in_memory_ + gathered_ + in_file_; }  // bytes held
  std::uint64_t in_file() const noexcept { return in_file_; }
  bool ended() const noexcept { return ended_; }

  // What comes behind the held bytes when the source had not ended; stays valid as long as this is pulled.
  void follow(BodySource& rest) noexcept { rest_ = &rest; }

  net::Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, Patience patience) override;
  void drop() noexcept override {}

  // False when bytes of the rest were passed on: they cannot be had again.
  bool rewindable() const noexcept { return !passed_on_; }
  void rewind() noexcept {
    at_ = 0;
    block_ = offset_ = 0;
  }

 private:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  using Buffer = std::unique_ptr<char[]>;
  using Pulled = net::Task<util::Result<void>>;
  static constexpr std::size_t kFirstBlock = 4 * 1024;  // each further one is twice as large, up to kBuffer
  static constexpr std::size_t kBuffer = 64 * 1024;     // of one write or read

  struct Block {
    Buffer bytes;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  struct Filled {
    Buffer bytes;
    std::size_t count = 0;
  };
  struct WriteJob;
  struct ReadJob;
  struct CloseJob;

  Pulled hold(const BodyBatch& batch);
  std::size_t keep(std::string_view bytes);
  std::size_t gather(std::string_view bytes);
  Pulled write_gathered();

  void hand_out_memory(BodyBatch& batch, std::size_t budget);
  Pulled hand_out_file(BodyBatch& batch, std::size_t budget, Patience patience);
  Pulled read_on_pool(BodyBatch& batch, std::size_t most);
  util::Result<void> hand_out_buffer(BodyBatch& batch, std::size_t count);
  Pulled pass_on(BodyBatch& batch, std::size_t budget, Patience patience);
  void advance(BodyBatch& batch, std::size_t count);

  net::Reactor* reactor_;
  net::BlockingPool* pool_;
  SpoolPolicy policy_;
  BodySource* rest_ = nullptr;
  const message::HeaderList* trailers_ = nullptr;

  std::vector<Block> blocks_;
  std::size_t in_memory_ = 0;
  std::shared_ptr<detail::SpoolFile> file_;  // shared with jobs that may outlive this
  std::uint64_t in_file_ = 0;
  Buffer gather_;  // on its way to the file
  std::size_t gathered_ = 0;

  std::uint64_t at_ = 0;    // the next held byte to hand out
  std::size_t block_ = 0;   // where it is while that is in memory
  std::size_t offset_ = 0;  // in that block
  Buffer buffer_;           // what was read from the file last

  std::optional<util::Error> broken_;
  bool ended_ = false;  // the source gave its last batch, and all of it is held
  bool passed_on_ = false;
};

}  // namespace pontage::http
