// The memory of one exchange: a bump allocator whose blocks are freed together. Owned by the Exchange,
// used by decoders and handlers on the worker's thread only. What it hands out lives until reset() or a
// rollback() to an earlier mark; destructors are never run, so only trivially destructible things go in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pontage::message {

class Arena {
 public:
  static constexpr std::size_t kBlock = 4096;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `align` is a power of two, at most alignof(std::max_align_t).
  void* allocate(std::size_t bytes, std::size_t align = alignof(std::max_align_t)) {
    auto at = (at_ + align - 1) & ~(static_cast<std::uintptr_t>(align) - 1);
    if (at + bytes > end_) return allocate_slow(bytes, align);
    at_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }
  std::span<char> chars(std::size_t n) { return {static_cast<char*>(allocate(n, 1)), n}; }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    const auto to = chars(text.size());
    std::memcpy(to.data(), text.data(), text.size());
    return {to.data(), to.size()};
  }
  // The texts one after another, in one piece.
  std::string_view join(std::initializer_list<std::string_view> parts);

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  struct Mark {
    std::size_t block = 0;
    std::uintptr_t at = 0;
  };
  Mark mark() const noexcept { return {current_, at_}; }
  // Forgets everything allocated since `mark` was taken.
  void rollback(Mark mark) noexcept;
  // Forgets everything; keeps the first block for the next exchange and frees the rest.
  void reset() noexcept;

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    std::size_t size;
  };
  void* allocate_slow(std::size_t bytes, std::size_t align);
  void enter(std::size_t block) noexcept;

  std::vector<Block> blocks_;
  std::size_t current_ = 0;  // index of the block in use, when there is one
  std::uintptr_t at_ = 0;
  std::uintptr_t end_ = 0;
};

}  // namespace pontage::message
