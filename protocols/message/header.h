// A field (name and value as views) and a list of them in arrival order with duplicates kept (ADAPTERS X1).
// Known names carry an id, so that nothing compares text twice. Texts and the list's storage live in an
// Arena and share its lifetime; worker's thread only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/message/arena.h"

namespace pontage::message {

// `unknown` first; the order of the rest means nothing.
enum class HeaderId : std::uint8_t {
  unknown = 0,
  accept,
  accept_charset,
  accept_encoding,
  accept_language,
  accept_ranges,
  age,
  allow,
  authorization,
  cache_control,
  client_cert,
  client_cert_chain,
  connection,
  content_encoding,
  content_language,
  content_length,
  content_location,
  content_range,
  content_type,
  cookie,
  cookie2,
  date,
  etag,
  expect,
  expires,
  forwarded,
  from,
  host,
  if_match,
  if_modified_since,
  if_none_match,
  if_range,
  if_unmodified_since,
  keep_alive,
  last_modified,
  link,
  location,
  max_forwards,
  origin,
  pragma,
  priority,
  proxy,
  proxy_authenticate,
  proxy_authorization,
  proxy_connection,
  range,
  referer,
  retry_after,
  server,
  servlet_engine,
  set_cookie,
  set_cookie2,
  status,
  strict_transport_security,
  te,
  traceparent,
  tracestate,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  vary,
  via,
  warning,
  www_authenticate,
  x_forwarded_client_cert,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_port,
  x_forwarded_proto,
  x_request_id,
  count_,
};

// Case-insensitive, whole name. `unknown` when the name has no id.
HeaderId lookup_header(std::string_view name) noexcept;
// The canonical spelling, e.g. "Content-Type"; empty for `unknown`.
std::string_view header_name(HeaderId id) noexcept;

struct Header {
  std::string_view name;   // as received, never empty
  std::string_view value;  // without surrounding OWS
  HeaderId id = HeaderId::unknown;
};

// Fields that belong to one connection and are never forwarded (RFC 9110 7.6.1; ADAPTERS X2): Connection,
// Keep-Alive, Proxy-Connection, TE, Trailer, Transfer-Encoding, Upgrade.
bool is_hop_by_hop(HeaderId id) noexcept;

class HeaderList {
 public:
  HeaderList() = default;
  explicit HeaderList(Arena& arena) noexcept : arena_(&arena) {}

  // The views must live as long as the list's arena. The first form looks the id up.
  void add(std::string_view name, std::string_view value) { add(name, value, lookup_header(name)); }
  void add(HeaderId id, std::string_view value) { add(header_name(id), value, id); }
  void add(std::string_view name, std::string_view value, HeaderId id) {
    if (size_ == capacity_) grow();
    data_[size_++] = Header{name, value, id};
  }
  // Removes every field for which `gone(field)` is true; keeps the order of the rest.
  template <class Predicate>
  void remove_if(Predicate&& gone) {
    std::uint32_t to = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (!gone(data_[i])) data_[to++] = data_[i];
    }
    size_ = to;
  }
  void remove(HeaderId id) {
    remove_if([id](const Header& h) { return h.id == id; });
  }
  void clear() noexcept { size_ = 0; }

  // The first field with this id or name (case-insensitive), or nullptr.
  const Header* find(HeaderId id) const noexcept {
    for (const auto& h : *this) {
      if (h.id == id) return &h;
    }
    return nullptr;
  }
  const Header* find(std::string_view name) const noexcept;
  bool has(HeaderId id) const noexcept { return find(id) != nullptr; }
  // The value of the first field with this id, or an empty view.
  std::string_view value(HeaderId id) const noexcept {
    const Header* h = find(id);
    return h ? h->value : std::string_view{};
  }
  std::size_t count(HeaderId id) const noexcept;

  Header* begin() noexcept { return data_; }
  Header* end() noexcept { return data_ + size_; }
  const Header* begin() const noexcept { return data_; }
  const Header* end() const noexcept { return data_ + size_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Arena* arena() const noexcept { return arena_; }

 private:
  void grow();

  Arena* arena_ = nullptr;
  Header* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace pontage::message
