// The CGI variables of a request (RFC 3875 4.1; ADAPTERS section 3): made once here, then written by whichever encoding
// the server speaks: environment, FastCGI parameters, SCGI netstring, uwsgi block. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/expected.h"

namespace pontage::cgi {

struct Variable {
  std::string_view name;   // no NUL, no '='
  std::string_view value;  // no NUL
};

// Whether the server gets Authorization: a plain CGI script's environment can be read by others (RFC 3875 9.2).
enum class Credentials : std::uint8_t { keep, drop };

// What a request is to an application. Views need to live as long as the list that is made from it.
struct Request {
  const message::RequestHead& head;    // method, version and query come from here
  const message::HeaderList& headers;  // ready to send: hop-by-hop fields gone, X-Forwarded-* in
  std::uint64_t content_length = 0;    // bytes of the body that will follow, counted by us (E2)
  std::string_view request_uri;        // path and query as they are matched and forwarded (DESIGN "One canonical path")
  std::string_view script_name;        // the part of the path that names the script; may be empty
  std::string_view path_info;          // the rest, %-decoded; empty: not sent (F16)
  std::string_view script_filename;    // empty: not sent
  std::string_view document_root;      // empty: not sent
  std::string_view server_name;        // without port
  std::string_view server_addr;
  std::uint16_t server_port = 0;  // as the client sees it
  std::string_view remote_addr;   // the client's, after trusted proxies
  std::uint16_t remote_port = 0;
  bool is_tls = false;
  std::string_view remote_user{};  // from our own authentication only
  std::string_view auth_type{};
  Credentials credentials = Credentials::keep;
  std::span<const Variable> configured{};           // trusted; they win over the client's fields (E5)
  std::span<const std::string_view> underscored{};  // field names with '_' that are let through (E4)
};

struct Refusal {
  enum class Reason : std::uint8_t {
    conflict,  // two different field names, or a mangled and a known one, make the same variable: 400 (E4)
    bad_byte,  // NUL in a value: 400 (E6)
  };
  Reason reason = Reason::conflict;
  std::string_view header;
};

class VariableList {
 public:
  explicit VariableList(message::Arena& arena) noexcept : arena_(&arena) {}

  void add(std::string_view name, std::string_view value) {
    if (size_ == capacity_) grow();
    data_[size_++] = Variable{name, value};
  }
  const Variable* find(std::string_view name) const noexcept;
  const Variable* begin() const noexcept { return data_; }
  const Variable* end() const noexcept { return data_ + size_; }
  std::size_t size() const noexcept { return size_; }
  // Bytes of all names and values.
  std::size_t bytes() const noexcept;

  // Fields whose names have an underscore and were left out (E4), for a counter.
  std::size_t underscored_dropped = 0;

 private:
  void grow();

  message::Arena* arena_;
  Variable* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// CONTENT_LENGTH is first, "0" without a body (SCGI wants both); encodings that want it absent skip it. Repeated fields
// are joined with ", ", Cookie with "; " (X3). Never made from a field: HTTP_PROXY, HTTP_CONTENT_LENGTH and _TYPE, the
// connection's own (E3). Texts that had to be made are in `arena`.
wire::Expected<VariableList, Refusal> make_variables(const Request& request, message::Arena& arena);

// True for a name that is computed here: a configuration that sets it means something else (E5).
bool is_computed(std::string_view name) noexcept;

}  // namespace pontage::cgi
