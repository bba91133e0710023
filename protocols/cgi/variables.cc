#include "protocols/cgi/variables.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <memory>

#include "protocols/wire/ascii.h"

namespace pontage::cgi {
namespace {

using message::Arena;
using message::Header;
using message::HeaderId;
using message::HeaderList;

constexpr std::size_t kFirstRoom = 48;
constexpr std::string_view kPrefix = "HTTP_";

constexpr std::array<std::string_view, 23> kComputed = {
    "AUTH_TYPE",   "CONTENT_LENGTH",  "CONTENT_TYPE",   "DOCUMENT_ROOT",   "GATEWAY_INTERFACE", "HTTPS",
    "PATH_INFO",   "PATH_TRANSLATED", "QUERY_STRING",   "REDIRECT_STATUS", "REMOTE_ADDR",       "REMOTE_PORT",
    "REMOTE_USER", "REQUEST_METHOD",  "REQUEST_SCHEME", "REQUEST_URI",     "SCRIPT_FILENAME",   "SCRIPT_NAME",
    "SERVER_ADDR", "SERVER_NAME",     "SERVER_PORT",    "SERVER_PROTOCOL", "SERVER_SOFTWARE"};

char mangled(char c) noexcept {
  if (c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return wire::is_alpha(c) || wire::is_digit(c) ? c : '_';
}

bool same_variable(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return mangled(x) == mangled(y); });
}

std::string_view variable_name(std::string_view field, Arena& arena) {
  const auto room = arena.chars(kPrefix.size() + field.size());
  auto* at = std::copy(kPrefix.begin(), kPrefix.end(), room.data());
  std::transform(field.begin(), field.end(), at, mangled);
  return {room.data(), room.size()};
}

std::string_view decimal(std::uint64_t number, Arena& arena) {
  const auto room = arena.chars(20);
  const auto done = std::to_chars(room.data(), room.data() + room.size(), number);
  return {room.data(), static_cast<std::size_t>(done.ptr - room.data())};
}

std::string_view protocol(message::Version version) noexcept {
  if (version == message::kHttp10) return "HTTP/1.0";
  return version.major == 2 ? "HTTP/2.0" : "HTTP/1.1";
}

// Fields that make no HTTP_ variable: computed otherwise, about the connection, or dangerous as one (E3).
bool is_left_out(const Header& field, Credentials credentials) noexcept {
  switch (field.id) {
    case HeaderId::content_length:
    case HeaderId::content_type:
    case HeaderId::proxy:
    case HeaderId::expect: return true;
    case HeaderId::authorization:
    case HeaderId::proxy_authorization: return credentials == Credentials::drop;
    default: break;
  }
  return message::is_hop_by_hop(field.id) || same_variable(field.name, "Redirect-Status");
}

// A token with a character that is neither alphanumeric nor '-': what makes two names one variable (E4).
bool is_ambiguous(std::string_view name) noexcept {
  return std::any_of(name.begin(), name.end(),
                     [](char c) { return c != '-' && !wire::is_alpha(c) && !wire::is_digit(c); });
}

bool is_listed(std::string_view name, std::span<const std::string_view> names) noexcept {
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return wire::iequals(n, name); });
}

bool same_field(const Header& a, const Header& b) noexcept {
  if (a.id != HeaderId::unknown || b.id != HeaderId::unknown) return a.id == b.id;
  return wire::iequals(a.name, b.name);
}

// All values of the field at `first`, in order, as one (X3).
std::string_view joined(const HeaderList& headers, const Header& first, Arena& arena) {
  const std::string_view separator = first.id == HeaderId::cookie ? "; " : ", ";
  std::size_t size = 0;
  std::size_t count = 0;
  for (const Header* h = &first; h != headers.end(); ++h) {
    if (!same_field(*h, first)) continue;
    size += h->value.size() + separator.size();
    ++count;
  }
  if (count == 1) return first.value;
  const auto room = arena.chars(size - separator.size());
  char* at = room.data();
  for (const Header* h = &first; h != headers.end(); ++h) {
    if (!same_field(*h, first)) continue;
    if (at != room.data()) at = std::copy(separator.begin(), separator.end(), at);
    at = std::copy(h->value.begin(), h->value.end(), at);
  }
  return {room.data(), room.size()};
}

// Makes the HTTP_ variables of a request's fields.
class FieldWalk {
 public:
  FieldWalk(const Request& request, VariableList& list, Arena& arena) noexcept
      : request_(request), list_(list), arena_(arena) {}

  wire::Expected<void, Refusal> run() {
    for (const Header& field : request_.headers) {
      if (is_left_out(field, request_.credentials)) continue;
      if (is_ambiguous(field.name)) {
        if (conflicts(field)) return wire::Unexpected(Refusal{Refusal::Reason::conflict, field.name});
        if (!is_listed(field.name, request_.underscored)) {
          ++list_.underscored_dropped;
          continue;
        }
      }
      if (field.value.find('\0') != std::string_view::npos) {
        return wire::Unexpected(Refusal{Refusal::Reason::bad_byte, field.name});
      }
      if (seen_before(field)) continue;
      const auto name = variable_name(field.name, arena_);
      if (!is_configured(name)) list_.add(name, joined(request_.headers, field, arena_));
    }
    return {};
  }

 private:
  bool seen_before(const Header& field) noexcept {
    if (field.id != HeaderId::unknown) {
      const auto id = static_cast<std::size_t>(field.id);
      if (seen_.test(id)) return true;
      seen_.set(id);
      return false;
    }
    return std::any_of(request_.headers.begin(), &field, [&](const Header& h) { return same_field(h, field); });
  }

  // Another field of the request, or a name that has a meaning here, makes the same variable.
  bool conflicts(const Header& field) const noexcept {
    for (const Header& other : request_.headers) {
      if (&other != &field && same_variable(other.name, field.name) && !same_field(other, field)) return true;
    }
    if (field.name.size() > kLongestKnown) return false;
    std::array<char, kLongestKnown> hyphened;
    std::transform(field.name.begin(), field.name.end(), hyphened.begin(),
                   [](char c) { return wire::is_alpha(c) || wire::is_digit(c) ? c : '-'; });
    return message::lookup_header({hyphened.data(), field.name.size()}) != HeaderId::unknown;
  }

  bool is_configured(std::string_view name) const noexcept {
    return std::any_of(request_.configured.begin(), request_.configured.end(),
                       [&](const Variable& v) { return v.name == name; });
  }

  static constexpr std::size_t kLongestKnown = 32;

  const Request& request_;
  VariableList& list_;
  Arena& arena_;
  std::bitset<static_cast<std::size_t>(HeaderId::count_)> seen_;
};

void add_if(VariableList& list, std::string_view name, std::string_view value) {
  if (!value.empty()) list.add(name, value);
}

std::string_view translated(const Request& request, Arena& arena) {
  const auto room = arena.chars(request.document_root.size() + request.path_info.size());
  auto* at = std::copy(request.document_root.begin(), request.document_root.end(), room.data());
  std::copy(request.path_info.begin(), request.path_info.end(), at);
  return {room.data(), room.size()};
}

void add_computed(const Request& request, VariableList& list, Arena& arena) {
  const auto& head = request.head;
  const auto method = message::to_string(head.method);
  list.add("CONTENT_LENGTH", request.content_length == 0 ? "0" : decimal(request.content_length, arena));
  list.add("REQUEST_METHOD", method.empty() ? head.method_text : method);
  list.add("REQUEST_URI", request.request_uri);
  list.add("QUERY_STRING", head.target.query);
  list.add("SCRIPT_NAME", request.script_name);
  add_if(list, "PATH_INFO", request.path_info);
  add_if(list, "SCRIPT_FILENAME", request.script_filename);
  add_if(list, "DOCUMENT_ROOT", request.document_root);
  if (!request.path_info.empty() && !request.document_root.empty()) {
    list.add("PATH_TRANSLATED", translated(request, arena));
  }
  list.add("SERVER_PROTOCOL", protocol(head.version));
  list.add("SERVER_NAME", request.server_name);
  list.add("SERVER_ADDR", request.server_addr);
  list.add("SERVER_PORT", decimal(request.server_port, arena));
  list.add("SERVER_SOFTWARE", "pontage");
  list.add("GATEWAY_INTERFACE", "CGI/1.1");
  list.add("REMOTE_ADDR", request.remote_addr);
  list.add("REMOTE_PORT", decimal(request.remote_port, arena));
  list.add("REQUEST_SCHEME", request.is_tls ? "https" : "http");
  if (request.is_tls) list.add("HTTPS", "on");
  add_if(list, "REMOTE_USER", request.remote_user);
  add_if(list, "AUTH_TYPE", request.auth_type);
  list.add("REDIRECT_STATUS", "200");
  add_if(list, "CONTENT_TYPE", request.headers.value(HeaderId::content_type));
}

}  // namespace

const Variable* VariableList::find(std::string_view name) const noexcept {
  const auto* found = std::find_if(begin(), end(), [&](const Variable& v) { return v.name == name; });
  return found == end() ? nullptr : found;
}

std::size_t VariableList::bytes() const noexcept {
  std::size_t sum = 0;
  for (const auto& v : *this) sum += v.name.size() + v.value.size();
  return sum;
}

void VariableList::grow() {
  const std::size_t capacity = capacity_ == 0 ? kFirstRoom : capacity_ * 2;
  auto* data = static_cast<Variable*>(arena_->allocate(capacity * sizeof(Variable), alignof(Variable)));
  std::uninitialized_copy_n(data_, size_, data);
  data_ = data;
  capacity_ = capacity;
}

wire::Expected<VariableList, Refusal> make_variables(const Request& request, Arena& arena) {
  VariableList list(arena);
  // A decoded path is the one text here that the head's decoder has not seen in this form (F16, E6).
  if (request.path_info.find('\0') != std::string_view::npos) {
    return wire::Unexpected(Refusal{Refusal::Reason::bad_byte, "PATH_INFO"});
  }
  add_computed(request, list, arena);
  for (const auto& v : request.configured) list.add(v.name, v.value);
  FieldWalk walk(request, list, arena);
  if (const auto done = walk.run(); !done) return wire::Unexpected(done.error());
  return list;
}

bool is_computed(std::string_view name) noexcept {
  return std::find(kComputed.begin(), kComputed.end(), name) != kComputed.end();
}

}  // namespace pontage::cgi
