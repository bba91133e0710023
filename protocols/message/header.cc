#include "protocols/message/header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

constexpr std::size_t kCount = static_cast<std::size_t>(HeaderId::count_);

// In the order of HeaderId.
constexpr std::array<std::string_view, kCount> kNames = {"",
                                                         "Accept",
                                                         "Accept-Charset",
                                                         "Accept-Encoding",
                                                         "Accept-Language",
                                                         "Accept-Ranges",
                                                         "Age",
                                                         "Allow",
                                                         "Authorization",
                                                         "Cache-Control",
                                                         "Client-Cert",
                                                         "Client-Cert-Chain",
                                                         "Connection",
                                                         "Content-Encoding",
                                                         "Content-Language",
                                                         "Content-Length",
                                                         "Content-Location",
                                                         "Content-Range",
                                                         "Content-Type",
                                                         "Cookie",
                                                         "Cookie2",
                                                         "Date",
                                                         "ETag",
                                                         "Expect",
                                                         "Expires",
                                                         "Forwarded",
                                                         "From",
                                                         "Host",
                                                         "If-Match",
                                                         "If-Modified-Since",
                                                         "If-None-Match",
                                                         "If-Range",
                                                         "If-Unmodified-Since",
                                                         "Keep-Alive",
                                                         "Last-Modified",
                                                         "Link",
                                                         "Location",
                                                         "Max-Forwards",
                                                         "Origin",
                                                         "Pragma",
                                                         "Priority",
                                                         "Proxy",
                                                         "Proxy-Authenticate",
                                                         "Proxy-Authorization",
                                                         "Proxy-Connection",
                                                         "Range",
                                                         "Referer",
                                                         "Retry-After",
                                                         "Server",
                                                         "Servlet-Engine",
                                                         "Set-Cookie",
                                                         "Set-Cookie2",
                                                         "Status",
                                                         "Strict-Transport-Security",
                                                         "TE",
                                                         "Traceparent",
                                                         "Tracestate",
                                                         "Trailer",
                                                         "Transfer-Encoding",
                                                         "Upgrade",
                                                         "User-Agent",
                                                         "Vary",
                                                         "Via",
                                                         "Warning",
                                                         "WWW-Authenticate",
                                                         "X-Forwarded-Client-Cert",
                                                         "X-Forwarded-For",
                                                         "X-Forwarded-Host",
                                                         "X-Forwarded-Port",
                                                         "X-Forwarded-Proto",
                                                         "X-Request-Id"};
static_assert(kNames[static_cast<std::size_t>(HeaderId::max_forwards)] == "Max-Forwards");
static_assert(kNames[static_cast<std::size_t>(HeaderId::strict_transport_security)] == "Strict-Transport-Security");
static_assert(kNames[static_cast<std::size_t>(HeaderId::x_request_id)] == "X-Request-Id");

constexpr std::size_t kLongest = 25;
constexpr std::size_t kLetters = 26;

// `name` starts with a letter and is at most kLongest long.
constexpr std::size_t bucket_of(std::string_view name) noexcept {
  return name.size() * kLetters + static_cast<std::size_t>(wire::to_lower(name[0]) - 'a');
}

// Names grouped by length and first letter: nearly always one candidate, three at most.
struct Index {
  std::array<std::uint8_t, (kLongest + 1) * kLetters + 1>
      start{};  // of a bucket in `ids`; it ends where the next starts
  std::array<HeaderId, kCount - 1> ids{};
};

// A counting sort: clang allows a constant no more than about a million steps.
constexpr Index make_index() {
  Index index;
  for (std::size_t id = 1; id < kCount; ++id) ++index.start[bucket_of(kNames[id]) + 1];
  for (std::size_t bucket = 1; bucket < index.start.size(); ++bucket) {
    index.start[bucket] = static_cast<std::uint8_t>(index.start[bucket] + index.start[bucket - 1]);
  }
  auto next = index.start;
  for (std::size_t id = 1; id < kCount; ++id) index.ids[next[bucket_of(kNames[id])]++] = static_cast<HeaderId>(id);
  return index;
}
constexpr Index kIndex = make_index();
static_assert(kIndex.start.back() == kCount - 1, "a name is longer than kLongest");

std::uint64_t load8(const char* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// All of a text of 4 to 7 bytes; its middle twice.
std::uint64_t load4to7(std::string_view text) noexcept {
  std::uint32_t head;
  std::uint32_t tail;
  std::memcpy(&head, text.data(), sizeof head);
  std::memcpy(&tail, text.data() + text.size() - sizeof tail, sizeof tail);
  return std::uint64_t{tail} << 32 | head;
}

// Eight bytes with A-Z made a-z and every other byte as it was. The two sums carry into a byte's top bit when its low
// seven bits are at least 'A', or above 'Z'; exactly one of them for a letter.
constexpr std::uint64_t fold8(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  const std::uint64_t low = word & (kOnes * 0x7f);
  const std::uint64_t from_a = low + kOnes * (0x80 - 'A');
  const std::uint64_t past_z = low + kOnes * (0x7f - 'Z');
  return word | (((from_a ^ past_z) & ~word & (kOnes * 0x80)) >> 2);
}

bool same_word(std::uint64_t a, std::uint64_t b) noexcept {
  return a == b || fold8(a) == fold8(b);
}

// Both texts have the same length.
inline bool same_name(std::string_view a, std::string_view b) noexcept {
  const std::size_t size = a.size();
  if (size < 4) return wire::iequals(a, b);
  if (size < 8) return same_word(load4to7(a), load4to7(b));
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    if (!same_word(load8(a.data() + i), load8(b.data() + i))) return false;
  }
  // The last word overlaps what was compared already rather than going byte by byte.
  return i == size || same_word(load8(a.data() + size - 8), load8(b.data() + size - 8));
}

}  // namespace

HeaderId lookup_header(std::string_view name) noexcept {
  if (name.empty() || name.size() > kLongest || !wire::is_alpha(name[0])) return HeaderId::unknown;
  const std::size_t bucket = bucket_of(name);
  for (std::size_t i = kIndex.start[bucket]; i < kIndex.start[bucket + 1]; ++i) {
    const HeaderId id = kIndex.ids[i];
    if (same_name(name, kNames[static_cast<std::size_t>(id)])) return id;
  }
  return HeaderId::unknown;
}

std::string_view header_name(HeaderId id) noexcept {
  const auto index = static_cast<std::size_t>(id);
  return index < kCount ? kNames[index] : std::string_view{};
}

bool is_hop_by_hop(HeaderId id) noexcept {
  switch (id) {
    case HeaderId::connection:
    case HeaderId::keep_alive:
    case HeaderId::proxy_connection:
    case HeaderId::te:
    case HeaderId::trailer:
    case HeaderId::transfer_encoding:
    case HeaderId::upgrade: return true;
    default: return false;
  }
}

const Header* HeaderList::find(std::string_view name) const noexcept {
  if (const HeaderId id = lookup_header(name); id != HeaderId::unknown) return find(id);
  for (const auto& h : *this) {
    if (h.id == HeaderId::unknown && h.name.size() == name.size() && same_name(h.name, name)) return &h;
  }
  return nullptr;
}

std::size_t HeaderList::count(HeaderId id) const noexcept {
  return static_cast<std::size_t>(std::count_if(begin(), end(), [id](const Header& h) { return h.id == id; }));
}

void HeaderList::grow() {
  // A browser's request has about ten fields; the old storage stays in the arena until the exchange ends.
  const std::uint32_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
  auto* data = static_cast<Header*>(arena_->allocate(capacity * sizeof(Header), alignof(Header)));
  std::uninitialized_copy_n(data_, size_, data);
  data_ = data;
  capacity_ = capacity;
}

}  // namespace pontage::message
