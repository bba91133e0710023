// Task<T>: the coroutine type of the request path. Lazy: it starts when awaited, inside the parent's await_suspend, and
// when it has finished by then the parent goes on without having been suspended. Only a child that really suspended
// resumes its parent from its end. No symmetric transfer: g++ 12 makes it no tail call below -O2 or under sanitizers,
// and the stack overflows (DESIGN "The engine"). A loop over a million ready tasks runs in constant stack
// (tests/unit/net).
//
// A function that often has its result at hand is no coroutine itself: it returns Task<T>::ready(result), which has no
// frame, and otherwise the task of a coroutine that does the rest.
//
// Every task of one chain shares a Fiber (see fiber.h), handed from parent to child. One thread: the worker's.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "src/net/recycler.h"

namespace pontage::net {

class Fiber;

namespace detail {

struct PromiseBase {
  Fiber* fiber = nullptr;
  std::coroutine_handle<> parent;  // set only once this task has really suspended
  std::exception_ptr failure;

  static void* operator new(std::size_t bytes) { return Recycler::allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { Recycler::deallocate(block, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      // The parent may destroy this frame: nothing of it is touched after resume().
      const std::coroutine_handle<> parent = self.promise().parent;
      if (parent) parent.resume();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  // std::bad_alloc is the one exception expected here; it unwinds to the chain's root, which ends the exchange.
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::PromiseBase {
    std::optional<T> value;
    Task get_return_object() noexcept { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& result) {
      value.emplace(std::forward<U>(result));
    }
  };

  static Task ready(T result) { return Task(std::move(result)); }
  // The result, when it is there without waiting; nullptr otherwise. Before the task is awaited.
  T* at_hand() noexcept { return result_ ? &*result_ : nullptr; }

  Task(Task&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : frame_(std::exchange(other.frame_, {})), result_(std::move(other.result_)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return result_.has_value(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) {
    frame_.promise().fiber = parent.promise().fiber;
    frame_.resume();
    if (frame_.done()) return false;
    frame_.promise().parent = parent;
    return true;
  }
  T await_resume() {
    if (result_) return std::move(*result_);
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
    return std::move(*frame_.promise().value);
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  explicit Task(T&& result) : result_(std::move(result)) {}
  std::coroutine_handle<promise_type> frame_;
  std::optional<T> result_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : detail::PromiseBase {
    Task get_return_object() noexcept { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    void return_void() noexcept {}
  };

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) {
    frame_.promise().fiber = parent.promise().fiber;
    frame_.resume();
    if (frame_.done()) return false;
    frame_.promise().parent = parent;
    return true;
  }
  void await_resume() {
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace pontage::net
