#include "src/net/recycler.h"

namespace pontage::net {

thread_local constinit std::array<Recycler::List, Recycler::kClasses> Recycler::lists_{};

void Recycler::trim() noexcept {
  for (List& list : lists_) {
    while (list.head != nullptr) {
      Node* node = list.head;
      list.head = node->next;
      ::operator delete(static_cast<void*>(node));
    }
    list.count = 0;
  }
}

}  // namespace pontage::net
