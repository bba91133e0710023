#include "src/origin/app.h"

#include "protocols/wire/ascii.h"
#include "src/util/clock.h"

namespace pontage::origin {

using message::BodyKind;
using message::HeaderId;

namespace {

constexpr std::size_t kMaxToken = 4096;

struct Entry {
  std::string_view word;
  void (*at_once)(Call&);
  net::Task<Done> (*in_time)(Call&);
};

constexpr Entry kEntries[] = {
    {"bytes", nullptr, &serve_bytes},     {"status", &serve_status, nullptr},   {"echo", nullptr, &serve_echo},
    {"upload", nullptr, &serve_upload},   {"info", nullptr, &serve_info},       {"session", &serve_session, nullptr},
    {"stream", nullptr, &serve_stream},   {"headers", &serve_headers, nullptr}, {"counter", &serve_counter, nullptr},
    {"early", &serve_early, nullptr},     {"fault", nullptr, &serve_fault},     {"token", &serve_token, nullptr},
    {"interim", &serve_interim, nullptr},
};
constexpr Entry kOther{"", &serve_other, nullptr};

// The first known word of the path; a prefix such as /app/ is passed over.
const Entry& find_entry(std::string_view path, std::string_view& argument) noexcept {
  for (auto segment = next_segment(path); !segment.empty(); segment = next_segment(path)) {
    for (const Entry& entry : kEntries) {
      if (entry.word != segment) continue;
      argument = next_segment(path);
      return entry;
    }
  }
  return kOther;
}

void compute(std::uint64_t microseconds) noexcept {
  const auto until = util::monotonic_ns() + microseconds * 1000;
  while (util::monotonic_ns() < until) {
  }
}

std::string_view token_of(const Options& options) noexcept {
  return options.token.size() <= kMaxToken && wire::is_field_value(options.token) ? options.token : std::string_view{};
}

}  // namespace

net::Task<Done> App::serve(Channel& channel) {
  Call call{*this, channel, channel.request()};
  const Entry& entry = find_entry(call.request.target.raw_path, call.argument);
  call.options = parse_options(call.request.target.query);
  if (call.options.cpu_us > 0) {
    const auto sent = co_await channel.flush();
    if (!sent) co_return sent;
    compute(call.options.cpu_us);
  }
  if (call.options.ms != Options::kUnset && entry.in_time != &serve_stream) {
    const auto waited = co_await channel.pause(call.options.ms);
    if (!waited) co_return waited;
  }
  if (entry.at_once != nullptr) {
    entry.at_once(call);
    co_return Done{};
  }
  if (entry.in_time == &serve_bytes && serve_few_bytes(call)) co_return Done{};
  co_return co_await entry.in_time(call);
}

std::optional<std::uint64_t> App::count(std::string_view key) {
  const std::lock_guard lock(lock_);
  auto at = counters_.find(key);
  if (at == counters_.end()) {
    if (counters_.size() >= kMaxKeys) return std::nullopt;
    at = counters_.emplace(key, 0).first;
  }
  return ++at->second;
}

std::uint64_t App::counted(std::string_view key) {
  const std::lock_guard lock(lock_);
  const auto at = counters_.find(key);
  return at == counters_.end() ? 0 : at->second;
}

void begin_answer(Call& call, message::ResponseHead& head, std::string_view type, std::optional<std::uint64_t> length) {
  head.headers.add(HeaderId::date, call.channel.date());
  if (!type.empty()) head.headers.add(HeaderId::content_type, type);
  const auto token = token_of(call.options);
  if (!token.empty()) head.headers.add("X-Token", token, HeaderId::unknown);
  if (call.options.trailer) head.headers.add(HeaderId::trailer, "X-Trailer");
  const bool known = length.has_value() && !call.options.chunked && !call.options.trailer;
  head.body = {known ? BodyKind::exact : BodyKind::chunked, known ? *length : 0};
  if (head.status == 204 || head.status == 304) head.body = {};
  if (call.options.close) head.persistence = message::Persistence::close;
  call.channel.begin(head);
}

void begin_answer(Call& call, int status, std::string_view type, std::optional<std::uint64_t> length) {
  message::ResponseHead head;
  head.status = status;
  head.headers = message::HeaderList(call.channel.arena());
  begin_answer(call, head, type, length);
}

void answer(Call& call, int status, std::string_view type, std::string_view body) {
  begin_answer(call, status, type, body.size());
  call.channel.write(body);
  end_answer(call);
}

void end_answer(Call& call) {
  if (!call.options.trailer) return;
  const auto token = token_of(call.options);
  call.channel.trailer("X-Trailer", token.empty() ? std::string_view("yes") : token);
}

}  // namespace pontage::origin
