#include "protocols/http2/request_intake.h"

#include <algorithm>
#include <array>

#include "protocols/wire/ascii.h"

namespace pontage::http2 {

using message::HeaderId;
using message::TargetForm;
using wire::DecodeError;
using Result = wire::Expected<void, DecodeError>;

namespace {

constexpr std::size_t kLineOverhead = 4;  // ": " and CRLF, so that limits mean the same as on HTTP/1
constexpr std::size_t kFloodFactor = 4;   // times the limit of all fields

wire::Unexpected<DecodeError> refuse(DecodeError error) noexcept {
  return wire::Unexpected(error);
}

// Every known name in lower case, made once.
struct LowerNames {
  static constexpr std::size_t kCount = static_cast<std::size_t>(HeaderId::count_);
  std::array<std::array<char, 32>, kCount> text{};
  std::array<std::uint8_t, kCount> size{};
  LowerNames() noexcept {
    for (std::size_t id = 1; id < kCount; ++id) {
      const auto name = message::header_name(static_cast<HeaderId>(id));
      size[id] = static_cast<std::uint8_t>(std::min(name.size(), text[id].size()));
      std::transform(name.begin(), name.begin() + size[id], text[id].begin(), wire::to_lower);
    }
  }
};
const LowerNames kLowerNames;

std::string_view lower_case(std::string_view text, message::Arena& arena) {
  const auto out = arena.chars(text.size());
  std::transform(text.begin(), text.end(), out.begin(), wire::to_lower);
  return {out.data(), out.size()};
}

}  // namespace

std::string_view lower_name(HeaderId id) noexcept {
  const auto index = static_cast<std::size_t>(id);
  return {kLowerNames.text[index].data(), kLowerNames.size[index]};
}

void RequestIntake::begin(message::Arena& arena, const wire::HeadLimits& limits) noexcept {
  arena_ = &arena;
  limits_ = &limits;
  headers_ = message::HeaderList(arena);
  pseudo_ = {};
  used_ = fields_ = cookies_ = cookie_bytes_ = 0;
  flood_at_ = kFloodFactor * (limits.headers + limits.request_line);
  has_expect_ = false;
  error_.reset();
}

void RequestIntake::trailer(std::string_view name, std::string_view value) noexcept {
  used_ += name.size() + value.size() + kLineOverhead;
}

void RequestIntake::field(std::string_view name, std::string_view value) {
  const std::size_t size = name.size() + value.size() + kLineOverhead;
  used_ += size;
  if (name.starts_with(':')) {
    pseudo(name, value);
    return;
  }
  if (error_) return;
  const HeaderId id = message::lookup_header(name);
  const bool crumb = id == HeaderId::cookie && cookies_ > 0;
  if (!crumb && ++fields_ > limits_->header_count) return fail(DecodeError::too_many_headers);
  if (size > limits_->header + kLineOverhead) return fail(DecodeError::header_too_long);
  if (used_ > limits_->headers + limits_->request_line) return fail(DecodeError::headers_too_long);
  if ((id == HeaderId::unknown && !wire::is_token(name)) || !wire::is_field_value(value)) {
    return fail(DecodeError::malformed_header);
  }
  if (id == HeaderId::cookie) {
    ++cookies_;
    cookie_bytes_ += value.size() + 2;
  }
  if (id == HeaderId::expect) has_expect_ = true;
  headers_.add(id == HeaderId::unknown ? arena_->copy(name) : lower_name(id), arena_->copy(wire::trim_ows(value)), id);
}

void RequestIntake::pseudo(std::string_view name, std::string_view value) {
  const std::size_t line = pseudo_.method.size() + pseudo_.path.size() + value.size();
  const bool in_line = name == ":method" || name == ":path";
  if (in_line && line > limits_->request_line) return fail(DecodeError::request_line_too_long);
  if (value.size() > limits_->header) return fail(DecodeError::header_too_long);
  const std::string_view text = arena_->copy(value);
  if (name == ":method") {
    pseudo_.method = text;
  } else if (name == ":path") {
    pseudo_.path = text;
  } else if (name == ":authority") {
    pseudo_.authority = text;
  } else if (name == ":scheme") {
    pseudo_.scheme = text;
  } else {
    fail(DecodeError::malformed_header);
  }
}

Result RequestIntake::finish(BodyFollows follows, message::RequestHead& head) {
  head = message::RequestHead{};
  head.version = message::kHttp2;
  head.method_text = wire::is_token(pseudo_.method) ? pseudo_.method : std::string_view{};
  head.method = message::parse_method(head.method_text);
  head.target_text = head.method == message::Method::connect ? pseudo_.authority : pseudo_.path;
  if (cookies_ > 1) join_cookies();
  head.headers = headers_;
  if (error_) return refuse(*error_);
  return fill(follows, head);
}

Result RequestIntake::fill(BodyFollows follows, message::RequestHead& head) {
  if (head.method_text.empty()) return refuse(DecodeError::malformed_request_line);
  const auto target = message::parse_target(head.target_text, head.method);
  if (!target) return refuse(target.error());
  head.target = *target;
  // RFC 9113 8.3.1: the path alone; the other form would name the authority once more.
  if (head.target.form == TargetForm::absolute) return refuse(DecodeError::malformed_target);
  const bool web = wire::iequals(pseudo_.scheme, "http") || wire::iequals(pseudo_.scheme, "https");
  if (head.method != message::Method::connect && !web) return refuse(DecodeError::malformed_target);
  if (const auto good = settle_host(head); !good) return good;
  const auto framing = message::request_framing(head.headers, head.version);
  if (!framing) return refuse(framing.error());
  head.body = *framing;
  const bool has_length = head.headers.has(HeaderId::content_length);
  if (follows == BodyFollows::no) {
    head.body = {};
  } else if (!has_length) {
    head.body = {message::BodyKind::chunked, 0};  // of unknown length: what HTTP/1 sends in chunks
  }
  if (has_expect_) {
    for (const auto& h : head.headers) {
      if (h.id == HeaderId::expect && wire::list_has(h.value, "100-continue")) head.expect_continue = true;
    }
  }
  return {};
}

// One authority, and a Host field that says the same, as a request of HTTP/1 has it.
Result RequestIntake::settle_host(message::RequestHead& head) {
  const message::Header* host = nullptr;
  for (const auto& h : head.headers) {
    if (h.id != HeaderId::host) continue;
    if (host != nullptr) return refuse(DecodeError::duplicate_host);
    host = &h;
  }
  if (host == nullptr && pseudo_.authority.empty()) return refuse(DecodeError::missing_host);
  if (host != nullptr && !pseudo_.authority.empty() && !wire::iequals(host->value, pseudo_.authority)) {
    return refuse(DecodeError::malformed_host);
  }
  head.authority = pseudo_.authority.empty() ? host->value : pseudo_.authority;
  const auto parsed = message::parse_authority(head.authority);
  if (!parsed) return refuse(parsed.error());
  auto name = parsed->host;
  if (!name.empty() && name.back() == '.') {
    name.remove_suffix(1);
    if (name.empty()) return refuse(DecodeError::malformed_host);
  }
  head.host = lower_case(name, *arena_);
  head.port = parsed->port;
  if (host == nullptr) head.headers.add(lower_name(HeaderId::host), head.authority, HeaderId::host);
  return {};
}

void RequestIntake::join_cookies() {
  const auto room = arena_->chars(cookie_bytes_);
  std::size_t at = 0;
  message::Header* first = nullptr;
  for (auto& h : headers_) {
    if (h.id != HeaderId::cookie) continue;
    if (first == nullptr) {
      first = &h;
    } else {
      room[at++] = ';';
      room[at++] = ' ';
    }
    at = static_cast<std::size_t>(
        std::copy(h.value.begin(), h.value.end(), room.begin() + static_cast<std::ptrdiff_t>(at)) - room.begin());
  }
  const std::string_view joined(room.data(), at);
  bool seen = false;
  headers_.remove_if([&](const message::Header& h) {
    if (h.id != HeaderId::cookie) return false;
    return std::exchange(seen, true);
  });
  for (auto& h : headers_) {
    if (h.id == HeaderId::cookie) h.value = joined;
  }
}

}  // namespace pontage::http2
