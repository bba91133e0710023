// A value or the reason there is none: the part of std::expected's interface (C++23) that this
// project uses, so that it can be swapped for the standard one. Owns its value; no throws; any thread.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace pontage::wire {

template <class E>
class Unexpected {
 public:
  constexpr explicit Unexpected(E error) : error_(std::move(error)) {}
  constexpr E& error() noexcept { return error_; }
  constexpr const E& error() const noexcept { return error_; }

 private:
  E error_;
};

// Calling value() or operator* without a value, or error() with one, is a programming error.
template <class T, class E>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = E;

  constexpr Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  constexpr Expected(Unexpected<E> error)                                            // NOLINT
      : state_(std::in_place_index<1>, std::move(error.error())) {}

  constexpr bool has_value() const noexcept { return state_.index() == 0; }
  constexpr explicit operator bool() const noexcept { return has_value(); }
  constexpr T& value() & noexcept { return *std::get_if<0>(&state_); }
  constexpr const T& value() const& noexcept { return *std::get_if<0>(&state_); }
  constexpr T&& value() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  constexpr T& operator*() & noexcept { return value(); }
  constexpr const T& operator*() const& noexcept { return value(); }
  constexpr T&& operator*() && noexcept { return std::move(*this).value(); }
  constexpr T* operator->() noexcept { return &value(); }
  constexpr const T* operator->() const noexcept { return &value(); }
  constexpr E& error() noexcept { return *std::get_if<1>(&state_); }
  constexpr const E& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Expected<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  constexpr Expected() = default;
  constexpr Expected(Unexpected<E> error)  // NOLINT
      : state_(std::in_place_index<1>, std::move(error.error())) {}

  constexpr bool has_value() const noexcept { return state_.index() == 0; }
  constexpr explicit operator bool() const noexcept { return has_value(); }
  constexpr void value() const noexcept {}
  constexpr E& error() noexcept { return *std::get_if<1>(&state_); }
  constexpr const E& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<std::monostate, E> state_;
};

}  // namespace pontage::wire
