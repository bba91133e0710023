// Memory for coroutine frames: freed blocks wait in per-thread lists by size class, so that steady state allocates
// nothing. A block goes back to the thread that frees it; frames never change threads here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace pontage::net {

class Recycler {
 public:
  static void* allocate(std::size_t bytes) {
    const std::size_t index = (bytes + kStep - 1) / kStep;
    if (index >= kClasses) return ::operator new(bytes);
    List& list = lists_[index];
    if (list.head == nullptr) return ::operator new(index* kStep);
    Node* node = list.head;
    list.head = node->next;
    --list.count;
    return node;
  }
  static void deallocate(void* block, std::size_t bytes) noexcept {
    const std::size_t index = (bytes + kStep - 1) / kStep;
    if (index >= kClasses || lists_[index].count >= kKeep) {
      ::operator delete(block);
      return;
    }
    List& list = lists_[index];
    list.head = new (block) Node{list.head};
    ++list.count;
  }
  // Frees what this thread keeps; called when a thread ends.
  static void trim() noexcept;

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 64;  // up to 4 KiB
  static constexpr std::uint32_t kKeep = 256;  // blocks of one class
  struct Node {
    Node* next;
  };
  struct List {
    Node* head = nullptr;
    std::uint32_t count = 0;
  };
  static thread_local constinit std::array<List, kClasses> lists_;
};

}  // namespace pontage::net
