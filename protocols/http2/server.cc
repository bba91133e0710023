#include "protocols/http2/server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <new>

#include "protocols/http2/server_callbacks.h"
#include "protocols/wire/ascii.h"

namespace pontage::http2 {

using message::HeaderId;

namespace {

constexpr std::size_t kMostAcks = 256;            // of PING and SETTINGS that wait to be sent
constexpr std::size_t kLargestHead = 160 * 1024;  // of a response
constexpr std::size_t kOwnFields = 5;             // :status, date, server, content-length, HSTS
constexpr std::size_t kInPlace = 48;              // fields of a head that needs no memory
constexpr std::uint8_t kNoCopy = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

std::uint8_t* bytes(std::string_view text) noexcept {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

// The library's settings are the same for every connection but for their numbers.
struct Setup {
  Setup(const ServerLimits&, void (*install)(nghttp2_session_callbacks*) noexcept) noexcept {
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) return;
    install(callbacks);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_outbound_ack(option, kMostAcks);
    nghttp2_option_set_max_send_header_block_length(option, kLargestHead);
    nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
    // Behind our own budgets, should one of them have a hole.
#ifdef PONTAGE_NGHTTP2_stream_reset_rate_limit
    nghttp2_option_set_stream_reset_rate_limit(option, std::uint64_t{2} * kResets.burst,
                                               std::uint64_t{2} * kResets.per_second);
#endif
#ifdef PONTAGE_NGHTTP2_max_continuations
    nghttp2_option_set_max_continuations(option, kContinuations + 1);
#endif
    good = true;
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() {
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
  }
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  bool good = false;
};

}  // namespace

// The pairs of one header block; their texts stay where they are.
struct Server::Block {
  Block(std::size_t most, message::Arena& arena) : arena_(&arena), pairs(in_place) {
    if (most > kInPlace) {
      pairs = static_cast<nghttp2_nv*>(arena.allocate(most * sizeof(nghttp2_nv), alignof(nghttp2_nv)));
    }
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void add(std::string_view name, std::string_view value) noexcept {
    pairs[count++] = {bytes(name), bytes(value), name.size(), value.size(), kNoCopy};
  }
  void add_number(std::string_view name, std::uint64_t number) {
    const auto room = arena_->chars(20);
    const auto done = std::to_chars(room.data(), room.data() + room.size(), number);
    add(name, {room.data(), static_cast<std::size_t>(done.ptr - room.data())});
  }
  // Fields of one connection have no place in HTTP/2 (RFC 9113 8.2.2).
  void add_all(const message::HeaderList& fields) {
    for (const auto& h : fields) {
      if (message::is_hop_by_hop(h.id)) continue;
      add(h.id == HeaderId::unknown ? lower_case(h.name) : lower_name(h.id), h.value);
    }
  }
  std::string_view lower_case(std::string_view name) {
    bool lower = true;
    for (const char c : name) lower = lower && wire::to_lower(c) == c;
    if (lower) return name;
    const auto out = arena_->chars(name.size());
    for (std::size_t i = 0; i < name.size(); ++i) out[i] = wire::to_lower(name[i]);
    return {out.data(), out.size()};
  }

  message::Arena* arena_;
  nghttp2_nv in_place[kInPlace];
  nghttp2_nv* pairs;
  std::size_t count = 0;
};

Server::Server(ServerEvents& events, const ServerLimits& limits) noexcept
    : events_(&events), limits_(limits), memory_{0, limits.memory} {
  if (!make_session() && session_ != nullptr) {
    nghttp2_session_del(session_);
    session_ = nullptr;
  }
}

Server::~Server() {
  nghttp2_session_del(session_);
}

bool Server::make_session() noexcept {
  const Setup setup(limits_, &Callbacks::install);
  if (!setup.good) return false;
  nghttp2_mem memory = make_memory(memory_);
  if (nghttp2_session_server_new3(&session_, setup.callbacks, this, setup.option, &memory) != 0) return false;
  const auto list = static_cast<std::uint32_t>(limits_.head.headers + limits_.head.request_line);
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, list},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  if (nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0) return false;
  // Room for several streams that are full, so that none of them holds up the others.
  const std::uint64_t window = std::uint64_t{4} * limits_.stream_window;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  const auto connection = static_cast<std::int32_t>(window < 65535 ? 65535 : window < most ? window : most);
  return nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection) == 0;
}

void Server::set_fault(Fault fault) noexcept {
  if (fault_ != Fault::none || fault == Fault::none) return;
  fault_ = fault;
  switch (fault) {
    case Fault::library: return;
    case Fault::protocol: return terminate(ErrorCode::protocol_error);
    case Fault::stream_closed: return terminate(ErrorCode::stream_closed);
    default: return terminate(ErrorCode::enhance_your_calm);
  }
}

Fault Server::receive(std::span<const char> input, std::uint64_t now_ms) noexcept {
  if (fault_ != Fault::none) return fault_;
  now_ms_ = now_ms;
  const auto seen = watch_.watch(input, now_ms);
  if (seen.good > 0) {
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(input.data()), seen.good);
    if (taken < 0) set_fault(pending_ != Fault::none ? pending_ : Fault::library);
    if (taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC) terminate(ErrorCode::protocol_error);
    if (taken == NGHTTP2_ERR_FLOODED) terminate(ErrorCode::enhance_your_calm);
  }
  set_fault(pending_);
  set_fault(seen.fault);
  return fault_;
}

Server::Sending Server::send() noexcept {
  for (;;) {
    if (held_.empty()) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size < 0) {
        fault_ = Fault::library;
        return Sending::failed;
      }
      if (size == 0) break;
      held_ = {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)};
    }
    if (events_->put(held_) != ServerEvents::Put::taken) return Sending::full;
    held_ = {};
  }
  if (pending_ != Fault::none && fault_ == Fault::none) {
    set_fault(pending_);
    return send();
  }
  return nghttp2_session_want_write(session_) != 0 ? Sending::full : Sending::all;
}

bool Server::wants_send() const noexcept {
  return !held_.empty() || nghttp2_session_want_write(session_) != 0;
}

std::size_t Server::queued() const noexcept {
  return nghttp2_session_get_outbound_queue_size(session_);
}

bool Server::over() const noexcept {
  return held_.empty() && nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

bool Server::respond(Stream& stream, const message::ResponseHead& head, const OwnFields& own, BodyFollows follows,
                     message::Arena& arena) noexcept {
  try {
    Block block(head.headers.size() + kOwnFields, arena);
    block.add_number(":status", static_cast<std::uint64_t>(head.status));
    if (!head.headers.has(HeaderId::date)) block.add("date", own.date);
    if (!head.headers.has(HeaderId::server)) block.add("server", own.server);
    if (!own.hsts.empty() && !head.headers.has(HeaderId::strict_transport_security)) {
      block.add("strict-transport-security", own.hsts);
    }
    block.add_all(head.headers);
    if (head.body.kind == message::BodyKind::exact) block.add_number("content-length", head.body.length);
    nghttp2_data_provider body{};
    body.read_callback = &Callbacks::read;
    return nghttp2_submit_response(session_, stream.id_, block.pairs, block.count,
                                   follows == BodyFollows::yes ? &body : nullptr) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Server::respond_interim(Stream& stream, const message::ResponseHead& head, message::Arena& arena) noexcept {
  try {
    Block block(head.headers.size() + kOwnFields, arena);
    block.add_number(":status", static_cast<std::uint64_t>(head.status));
    for (const auto& h : head.headers) {
      if (h.id == HeaderId::content_length || message::is_hop_by_hop(h.id)) continue;
      block.add(h.id == HeaderId::unknown ? block.lower_case(h.name) : lower_name(h.id), h.value);
    }
    // Copied: the interim head's memory may be used again before it is sent.
    for (std::size_t i = 0; i < block.count; ++i) block.pairs[i].flags = NGHTTP2_NV_FLAG_NONE;
    return nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id_, nullptr, block.pairs, block.count,
                                  nullptr) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Server::send_trailers(Stream& stream, const message::HeaderList& trailers, message::Arena& arena) noexcept {
  try {
    Block block(trailers.size(), arena);
    block.add_all(trailers);
    return nghttp2_submit_trailer(session_, stream.id_, block.pairs, block.count) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Server::resume(Stream& stream) noexcept {
  nghttp2_session_resume_data(session_, stream.id_);
}

void Server::reset(Stream& stream, ErrorCode code) noexcept {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, static_cast<std::uint32_t>(code));
}

std::size_t Server::window(const Stream& stream) const noexcept {
  const std::int32_t of_stream = nghttp2_session_get_stream_remote_window_size(session_, stream.id_);
  const std::int32_t of_all = nghttp2_session_get_remote_window_size(session_);
  return static_cast<std::size_t>(std::max(0, std::min(of_stream, of_all)));
}

void Server::consumed_stream(Stream& stream, std::size_t bytes_used) noexcept {
  nghttp2_session_consume_stream(session_, stream.id_, bytes_used);
}

void Server::consumed_connection(std::size_t bytes_used) noexcept {
  nghttp2_session_consume_connection(session_, bytes_used);
}

void Server::announce_end() noexcept {
  nghttp2_submit_shutdown_notice(session_);
}

void Server::ping() noexcept {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void Server::go_away(ErrorCode code) noexcept {
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, static_cast<std::uint32_t>(code), nullptr, 0);
}

void Server::terminate(ErrorCode code) noexcept {
  nghttp2_session_terminate_session(session_, static_cast<std::uint32_t>(code));
}

}  // namespace pontage::http2
