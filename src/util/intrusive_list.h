// A doubly linked list of things that carry their own links: no allocation, O(1) removal from anywhere. A thing leaves
// its list by itself when destroyed. One thread at a time (or under the owner's lock).
#pragma once

#include <cstddef>

namespace pontage::util {

class ListHook {
 public:
  ListHook() noexcept = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { unlink(); }

  bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class T>
  friend class IntrusiveList;
  ListHook* next_ = nullptr;
  ListHook* previous_ = nullptr;
};

// T derives from ListHook.
template <class T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { head_.next_ = head_.previous_ = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }

  bool empty() const noexcept { return head_.next_ == &head_; }
  T* front() noexcept { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* back() noexcept { return empty() ? nullptr : static_cast<T*>(head_.previous_); }
  void push_back(T& item) noexcept { insert_before(head_, item); }
  void push_front(T& item) noexcept { insert_before(*head_.next_, item); }
  T* pop_front() noexcept {
    T* item = front();
    if (item != nullptr) static_cast<ListHook*>(item)->unlink();
    return item;
  }
  T* pop_back() noexcept {
    T* item = back();
    if (item != nullptr) static_cast<ListHook*>(item)->unlink();
    return item;
  }
  // Moves everything from `other` to the end of this list.
  void splice_back(IntrusiveList& other) noexcept {
    while (T* item = other.pop_front()) push_back(*item);
  }
  // Calls each(T&); `each` may unlink the item it is given.
  template <class F>
  void for_each(F&& each) {
    for (ListHook* at = head_.next_; at != &head_;) {
      ListHook* next = at->next_;
      each(static_cast<T&>(*at));
      at = next;
    }
  }

 private:
  static void insert_before(ListHook& position, ListHook& item) noexcept {
    item.previous_ = position.previous_;
    item.next_ = &position;
    position.previous_->next_ = &item;
    position.previous_ = &item;
  }
  ListHook head_;
};

}  // namespace pontage::util
