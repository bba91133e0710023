#include "protocols/http2/memory.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <new>

namespace pontage::http2 {
namespace {

constexpr std::size_t kStep = 64;
constexpr std::size_t kClasses = 64;   // up to 4 KiB
constexpr std::uint32_t kKeep = 1024;  // blocks of one class
constexpr std::size_t kLargest = SIZE_MAX / 2;

// Stands before what the library gets; as long as the strictest alignment.
struct alignas(std::max_align_t) Block {
  std::size_t size;  // header included
  Block* next;
};

struct List {
  Block* head = nullptr;
  std::uint32_t count = 0;
};

// Frees what is kept when the thread ends.
struct Lists {
  std::array<List, kClasses> at{};
  ~Lists() { clear(); }
  void clear() noexcept {
    for (List& list : at) {
      while (list.head != nullptr) {
        Block* block = list.head;
        list.head = block->next;
        ::operator delete(static_cast<void*>(block));
      }
      list.count = 0;
    }
  }
};
thread_local Lists lists;

void* allocate(std::size_t bytes, MemoryAccount& account) noexcept {
  if (bytes > kLargest) return nullptr;
  const std::size_t index = (bytes + sizeof(Block) + kStep - 1) / kStep;
  const std::size_t size = index < kClasses ? index * kStep : bytes + sizeof(Block);
  if (account.used + size > account.limit) return nullptr;
  Block* block = nullptr;
  if (index < kClasses && lists.at[index].head != nullptr) {
    block = lists.at[index].head;
    lists.at[index].head = block->next;
    --lists.at[index].count;
  } else {
    block = static_cast<Block*>(::operator new(size, std::nothrow));
  }
  if (block == nullptr) return nullptr;
  block->size = size;
  account.used += size;
  return block + 1;
}

void release(void* memory, MemoryAccount& account) noexcept {
  if (memory == nullptr) return;
  Block* block = static_cast<Block*>(memory) - 1;
  account.used -= block->size;
  const std::size_t index = block->size / kStep;
  if (block->size % kStep != 0 || index >= kClasses || lists.at[index].count >= kKeep) {
    ::operator delete(static_cast<void*>(block));
    return;
  }
  block->next = lists.at[index].head;
  lists.at[index].head = block;
  ++lists.at[index].count;
}

MemoryAccount& account_of(void* user) noexcept {
  return *static_cast<MemoryAccount*>(user);
}

void* on_malloc(std::size_t size, void* user) {
  return allocate(size, account_of(user));
}
void on_free(void* memory, void* user) {
  release(memory, account_of(user));
}
void* on_calloc(std::size_t count, std::size_t size, void* user) {
  if (size != 0 && count > kLargest / size) return nullptr;
  void* memory = allocate(count * size, account_of(user));
  if (memory != nullptr) std::memset(memory, 0, count * size);
  return memory;
}
void* on_realloc(void* memory, std::size_t size, void* user) {
  if (memory == nullptr) return allocate(size, account_of(user));
  const std::size_t room = (static_cast<Block*>(memory) - 1)->size - sizeof(Block);
  if (size <= room) return memory;
  void* larger = allocate(size, account_of(user));
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, memory, room);
  release(memory, account_of(user));
  return larger;
}

}  // namespace

nghttp2_mem make_memory(MemoryAccount& account) noexcept {
  return {&account, &on_malloc, &on_free, &on_calloc, &on_realloc};
}

void trim_memory() noexcept {
  lists.clear();
}

}  // namespace pontage::http2
