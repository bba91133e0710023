#include "protocols/message/arena.h"

#include <algorithm>

namespace pontage::message {

void* Arena::allocate_slow(std::size_t bytes, std::size_t align) {
  // A kept later block (after a rollback) is used again when it is large enough.
  while (!blocks_.empty() && current_ + 1 < blocks_.size()) {
    enter(current_ + 1);
    const auto at = (at_ + align - 1) & ~(static_cast<std::uintptr_t>(align) - 1);
    if (at + bytes <= end_) {
      at_ = at + bytes;
      return reinterpret_cast<void*>(at);
    }
  }
  const std::size_t size = std::max(kBlock, bytes + align);
  blocks_.push_back(Block{std::make_unique_for_overwrite<char[]>(size), size});
  enter(blocks_.size() - 1);
  const auto at = (at_ + align - 1) & ~(static_cast<std::uintptr_t>(align) - 1);
  at_ = at + bytes;
  return reinterpret_cast<void*>(at);
}

void Arena::enter(std::size_t block) noexcept {
  current_ = block;
  at_ = reinterpret_cast<std::uintptr_t>(blocks_[block].memory.get());
  end_ = at_ + blocks_[block].size;
}

void Arena::rollback(Mark mark) noexcept {
  if (mark.at == 0) {
    if (!blocks_.empty()) enter(0);
    return;
  }
  enter(mark.block);
  at_ = mark.at;
}

void Arena::reset() noexcept {
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) blocks_.resize(1);
  enter(0);
}

std::string_view Arena::join(std::initializer_list<std::string_view> parts) {
  std::size_t total = 0;
  for (const auto part : parts) total += part.size();
  const auto to = chars(total);
  char* at = to.data();
  for (const auto part : parts) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  return {to.data(), to.size()};
}

}  // namespace pontage::message
