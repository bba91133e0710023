// Counts requests by listener, route, backend, method and code: the one series whose labels are not all known when the
// config is loaded. A worker owns one table and is its only writer; the scraper reads it at any time without a lock.
// Open addressing; a table that fills up is replaced by one twice as large, and the old one stays until the end,
// because a scraper may be reading it. Past kMaxKeys the code and method of new keys are given up, so a server that
// answers with every code there is cannot fill memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/message/method.h"

namespace pontage::observe {

// Interned names (Metrics::intern_*); 0 stands for "none". A code outside 100..599 counts as `other`.
struct RequestKey {
  std::uint16_t listener = 0;
  std::uint16_t route = 0;
  std::uint16_t backend = 0;
  message::Method method = message::Method::other;
  std::uint16_t code = 0;

  friend bool operator==(const RequestKey&, const RequestKey&) = default;
};

class RequestTable {
 public:
  static constexpr std::size_t kMaxKeys = 4096;

  RequestTable();
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;

  // One request more. The owning worker only; about 2 ns, allocates only when it grows.
  void count(const RequestKey& key) noexcept {
    const std::uint64_t packed = pack(key);
    if (packed != last_key_) {
      find(packed);
      if (last_ == nullptr) return;
    }
    last_->store(last_->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Calls `each(RequestKey, count)` for every key. Any thread.
  template <class F>
  void each(F&& each) const {
    const Slots* slots = current_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i <= slots->mask; ++i) {
      const std::uint64_t packed = slots->at[i].key.load(std::memory_order_acquire);
      if (packed != 0) each(unpack(packed), slots->at[i].count.load(std::memory_order_relaxed));
    }
  }
  // New keys that were folded into `other` or not counted at all. Any thread.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kFirstSize = 256;
  static constexpr std::size_t kGrowths = 6;                          // to 16384 slots, more than twice kMaxFolded
  static constexpr std::size_t kMaxFolded = kMaxKeys + kMaxKeys / 2;  // room for the folded keys

  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> count{0};
  };
  struct Slots {
    explicit Slots(std::unique_ptr<Slot[]> slots, std::size_t size) noexcept : mask(size - 1), at(std::move(slots)) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> at;
  };

  static std::uint64_t pack(const RequestKey& key) noexcept {
    const std::uint64_t code = key.code >= 100 && key.code <= 599 ? key.code : 0;
    return std::uint64_t{key.listener} << 48 | std::uint64_t{key.route} << 32 | std::uint64_t{key.backend} << 16 |
           kUsed | static_cast<std::uint64_t>(key.method) << kCodeBits | code;
  }
  static RequestKey unpack(std::uint64_t packed) noexcept {
    return {static_cast<std::uint16_t>(packed >> 48), static_cast<std::uint16_t>(packed >> 32),
            static_cast<std::uint16_t>(packed >> 16), static_cast<message::Method>(packed >> kCodeBits & 31),
            static_cast<std::uint16_t>(packed & ((1U << kCodeBits) - 1))};
  }
  static constexpr unsigned kCodeBits = 10;
  static constexpr std::uint64_t kUsed = 1U << 15;  // so that no key is 0
  static constexpr std::uint64_t kMethodAndCode = kUsed - 1;
  static_assert(static_cast<unsigned>(message::Method::connect) < 32);

  static Slot& probe(const Slots& slots, std::uint64_t packed) noexcept;
  void find(std::uint64_t packed) noexcept;
  void grow() noexcept;

  std::uint64_t last_key_ = 0;
  std::atomic<std::uint64_t>* last_ = nullptr;  // the count of last_key_
  std::size_t used_ = 0;
  std::size_t generation_ = 0;
  std::atomic<const Slots*> current_{nullptr};
  std::atomic<std::uint64_t> dropped_{0};
  std::array<std::unique_ptr<Slots>, kGrowths + 1> generations_;
};

}  // namespace pontage::observe
