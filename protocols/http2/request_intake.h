// The fields of a request's header block, one by one as they are decoded, made into the same RequestHead that HTTP/1
// gives: nothing above can tell which it was. Field rules are those of the project (protocols/message), limits those of
// HTTP/1; cookie crumbs become one field (RFC 9113 8.2.3), :authority and Host must agree (8.3.1). What the library has
// refused already (upper case, connection-specific fields, pseudo-fields out of place) never comes here. Lives in its
// stream; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::http2 {

enum class BodyFollows : std::uint8_t { no, yes };  // whether END_STREAM is still to come

class RequestIntake {
 public:
  // A new request. `arena` and `limits` stay valid until finish(); the head's texts live in the arena.
  void begin(message::Arena& arena, const wire::HeadLimits& limits) noexcept;
  // May throw std::bad_alloc. After an error fields are only counted.
  void field(std::string_view name, std::string_view value);
  // A field of the trailer section: counted, and dropped as HTTP/1 drops them (CASES U14).
  void trailer(std::string_view name, std::string_view value) noexcept;
  // The block has ended. On an error `head` still holds what logs and the error page need.
  wire::Expected<void, wire::DecodeError> finish(BodyFollows follows, message::RequestHead& head);
  // So far beyond the limits that it is no mistake: small blocks that decode to large lists (RFC 7541 7.3).
  bool flooded() const noexcept { return used_ > flood_at_; }

 private:
  struct Pseudo {
    std::string_view method, scheme, authority, path;
  };
  void pseudo(std::string_view name, std::string_view value);
  wire::Expected<void, wire::DecodeError> fill(BodyFollows follows, message::RequestHead& head);
  wire::Expected<void, wire::DecodeError> settle_host(message::RequestHead& head);
  void join_cookies();
  void fail(wire::DecodeError error) noexcept {
    if (!error_) error_ = error;
  }

  message::Arena* arena_ = nullptr;
  const wire::HeadLimits* limits_ = nullptr;
  message::HeaderList headers_;
  Pseudo pseudo_;
  std::size_t used_ = 0;  // bytes of all fields
  std::size_t flood_at_ = 0;
  std::size_t fields_ = 0;
  std::size_t cookies_ = 0;
  std::size_t cookie_bytes_ = 0;
  bool has_expect_ = false;
  std::optional<wire::DecodeError> error_;
};

// The lower-case name that HTTP/2 sends for a known field.
std::string_view lower_name(message::HeaderId id) noexcept;

}  // namespace pontage::http2
