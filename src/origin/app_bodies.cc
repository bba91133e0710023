#include "protocols/wire/ascii.h"
#include "src/origin/app.h"
#include "src/origin/pattern.h"

namespace pontage::origin {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kFewBytes = 8 * 1024;
constexpr std::string_view kOctets = "application/octet-stream";

std::optional<std::uint64_t> wanted_bytes(const Call& call) noexcept {
  const auto count = wire::parse_decimal(call.argument);
  return count && *count <= kMaxBytes ? count : std::nullopt;
}

void list_fields(Json& json, const message::HeaderList& fields) {
  json.begin_array();
  for (const auto& field : fields) {
    json.begin_array();
    json.text(field.name);
    json.text(field.value);
    json.end_array();
  }
  json.end_array();
}

struct Received {
  std::uint64_t bytes = 0;
  Checksum checksum;
};

net::Task<util::Result<Received>> read_whole(Channel& channel) {
  Received received;
  for (;;) {
    const auto piece = co_await channel.read_body();
    if (!piece) co_return util::Failure(piece.error());
    if (piece->empty()) co_return received;
    received.bytes += piece->size();
    received.checksum.add(*piece);
  }
}

std::string_view version_text(message::Version version) noexcept {
  if (version == message::kHttp10) return "HTTP/1.0";
  return version.major == 2 ? "HTTP/2.0" : "HTTP/1.1";
}

}  // namespace

bool serve_few_bytes(Call& call) {
  const auto count = wanted_bytes(call);
  if (!count) {
    answer(call, 400, kText, "/bytes/N takes N from 0 to 1099511627776\n");
    return true;
  }
  if (*count > kFewBytes) return false;
  answer(call, 200, kOctets, pattern(*count));
  return true;
}

net::Task<Done> serve_bytes(Call& call) {
  std::uint64_t left = wanted_bytes(call).value_or(0);
  begin_answer(call, 200, kOctets, left);
  if (call.request.method == message::Method::head) co_return Done{};
  while (left > 0) {
    const auto piece = pattern(left);
    const auto sent = co_await call.channel.send(piece);
    if (!sent) co_return sent;
    left -= piece.size();
  }
  end_answer(call);
  co_return Done{};
}

net::Task<Done> serve_echo(Call& call) {
  Channel& channel = call.channel;
  channel.invite_body();
  std::optional<std::uint64_t> length = call.request.body.length;
  if (call.request.body.kind == message::BodyKind::chunked) length.reset();
  const auto type = call.request.headers.value(message::HeaderId::content_type);
  begin_answer(call, 200, type.empty() ? kOctets : type, length);
  for (;;) {
    const auto piece = co_await channel.read_body();
    if (!piece) co_return util::Failure(piece.error());
    if (piece->empty()) break;
    const auto sent = co_await channel.send(*piece);
    if (!sent) co_return sent;
  }
  end_answer(call);
  co_return Done{};
}

net::Task<Done> serve_upload(Call& call) {
  const auto received = co_await read_whole(call.channel);
  if (!received) co_return util::Failure(received.error());
  std::string& text = call.channel.scratch();
  text.clear();
  Json json(text);
  const auto fnv = received->checksum.hex();
  json.begin_object();
  json.number("bytes", received->bytes);
  json.text("fnv", std::string_view(fnv.data(), fnv.size()));
  json.key("trailers");
  list_fields(json, call.channel.request_trailers());
  json.end_object();
  answer(call, 200, kJson, text);
  co_return Done{};
}

net::Task<Done> serve_info(Call& call) {
  const auto received = co_await read_whole(call.channel);
  if (!received) co_return util::Failure(received.error());
  const message::RequestHead& request = call.request;
  const auto facts = call.channel.facts();
  std::string& text = call.channel.scratch();
  text.clear();
  Json json(text);
  json.begin_object();
  json.text("protocol", facts.protocol);
  json.text("method", request.method_text);
  json.text("target", request.target_text);
  json.text("path", request.target.raw_path);
  if (request.target.has_query) json.text("query", request.target.query);
  json.text("version", version_text(request.version));
  json.text("authority", request.authority);
  json.key("headers");
  list_fields(json, request.headers);
  json.number("body_bytes", received->bytes);
  json.number("connection", facts.connection);
  json.number("request", facts.request);
  call.channel.describe(json);
  json.end_object();
  answer(call, 200, kJson, text);
  co_return Done{};
}

net::Task<Done> serve_stream(Call& call) {
  constexpr std::uint64_t kDefaultMs = 20;
  Channel& channel = call.channel;
  const auto interval = call.options.ms == Options::kUnset ? kDefaultMs : call.options.ms;
  message::ResponseHead head;
  head.status = 200;
  head.headers = message::HeaderList(channel.arena());
  head.headers.add(message::HeaderId::cache_control, "no-store");
  begin_answer(call, head, "text/event-stream", std::nullopt);
  if (call.request.method == message::Method::head) co_return Done{};
  std::string& line = channel.scratch();
  for (std::uint64_t i = 0; i < call.options.lines; ++i) {
    if (i > 0) {
      const auto waited = co_await channel.pause(interval);
      if (!waited) co_return waited;
    }
    line = "data: ";
    line += std::to_string(i);
    line += "\n\n";
    channel.write(line);
    const auto sent = co_await channel.flush();
    if (!sent) co_return sent;
  }
  end_answer(call);
  co_return Done{};
}

net::Task<Done> serve_fault(Call& call) {
  const auto done = co_await call.channel.fault(call.argument);
  if (!done) co_return util::Failure(done.error());
  if (*done) co_return Done{};
  std::string& text = call.channel.scratch();
  text.clear();
  Json json(text);
  json.begin_object();
  json.text("error", "no such fault in this protocol");
  json.key("faults");
  json.begin_array();
  call.channel.list_faults(json);
  json.end_array();
  json.end_object();
  answer(call, 404, kJson, text);
  co_return Done{};
}

}  // namespace pontage::origin
