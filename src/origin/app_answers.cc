#include <algorithm>

#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"
#include "src/http/random_id.h"
#include "src/origin/app.h"

namespace pontage::origin {

using message::HeaderId;

namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;
constexpr std::string_view kCookie = "JSESSIONID";

message::ResponseHead new_head(Call& call, int status) {
  message::ResponseHead head;
  head.status = status;
  head.headers = message::HeaderList(call.channel.arena());
  return head;
}

void answer_json(Call& call, message::ResponseHead& head) {
  const std::string& text = call.channel.scratch();
  begin_answer(call, head, kJson, text.size());
  call.channel.write(text);
  end_answer(call);
}

// The value of the first session cookie that ends in our route, or an empty view.
std::string_view session_of(const Call& call, std::string_view suffix) {
  for (const auto& field : call.request.headers) {
    if (field.id != HeaderId::cookie) continue;
    auto rest = field.value;
    while (!rest.empty()) {
      const auto pair = wire::trim_ows(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      const auto equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != kCookie) continue;
      const auto value = pair.substr(equals + 1);
      if (!value.empty() && value.ends_with(suffix)) return value;
    }
  }
  return {};
}

}  // namespace

void serve_status(Call& call) {
  const auto status = wire::parse_decimal(call.argument);
  if (!status || *status < 200 || *status > 999) {
    answer(call, 400, kText, "/status/NNN takes a final status, 200 to 999\n");
    return;
  }
  const auto code = static_cast<int>(*status);
  if (message::forbids_body(code)) {
    begin_answer(call, code, {}, 0);
    return;
  }
  auto head = new_head(call, code);
  if (code / 100 == 3) head.headers.add(HeaderId::location, "/bytes/0");
  const auto body = message::reason_phrase(code);
  begin_answer(call, head, kText, body.size());
  call.channel.write(body);
  end_answer(call);
}

void serve_headers(Call& call) {
  constexpr std::size_t kField = 1000;  // bytes of one field line with its CRLF
  const auto wanted = wire::parse_decimal(call.argument);
  if (!wanted || *wanted > kMaxHeaderBytes) {
    answer(call, 400, kText, "/headers/N takes N from 0 to 1048576\n");
    return;
  }
  auto head = new_head(call, 200);
  message::Arena& arena = call.channel.arena();
  const auto fill = arena.chars(kField);
  std::fill(fill.begin(), fill.end(), 'x');
  std::size_t left = static_cast<std::size_t>(*wanted);
  for (std::size_t k = 0; left > 0; ++k) {
    const auto name = arena.copy("X-Fill-" + std::to_string(k));
    const std::size_t frame = name.size() + 4;  // ": " and CRLF
    const std::size_t value = std::max(std::min(left, kField), frame) - frame;
    head.headers.add(name, {fill.data(), value}, HeaderId::unknown);
    left -= std::min(left, frame + value);
  }
  constexpr std::string_view kBody = "headers\n";
  begin_answer(call, head, kText, kBody.size());
  call.channel.write(kBody);
  end_answer(call);
}

void serve_token(Call& call) {
  answer(call, 200, kText, call.options.token);
}

void serve_session(Call& call) {
  const std::string& route = call.app.options().route;
  message::Arena& arena = call.channel.arena();
  const auto suffix = route.empty() ? std::string_view{} : arena.join({".", route});
  auto session = session_of(call, suffix);
  const bool is_new = session.empty();
  auto head = new_head(call, 200);
  if (is_new) {
    char id[16];
    http::random_hex(id);
    session = arena.join({std::string_view(id, sizeof id), suffix});
    head.headers.add(HeaderId::set_cookie, arena.join({kCookie, "=", session, "; Path=/"}));
  }
  std::string& text = call.channel.scratch();
  text.clear();
  Json json(text);
  json.begin_object();
  json.text("route", route);
  json.text("session", session);
  json.flag("new", is_new);
  json.end_object();
  answer_json(call, head);
}

void serve_counter(Call& call) {
  const auto key = call.options.key;
  const bool only_told = call.options.read && call.request.method == message::Method::get;
  const auto count = only_told ? call.app.counted(key) : call.app.count(key);
  if (!count) {
    answer(call, 507, kText, "too many keys\n");
    return;
  }
  std::string& text = call.channel.scratch();
  text.clear();
  Json json(text);
  json.begin_object();
  json.text("key", key);
  json.number("count", *count);
  json.end_object();
  auto head = new_head(call, 200);
  head.headers.add(HeaderId::cache_control, "no-store");
  answer_json(call, head);
}

void serve_early(Call& call) {
  call.options.close = true;
  answer(call, 413, kText, "too much\n");
  call.channel.end_connection();
}

void serve_interim(Call& call) {
  call.channel.interim(103, "Link: </style.css>; rel=preload\r\n");
  call.channel.interim(102, {});
  answer(call, 200, kText, "after interim responses\n");
}

// The start page for anything that ends in '/', so that a mount point answers by itself.
void serve_other(Call& call) {
  constexpr std::string_view kPage =
      "pontage origin\n\n"
      "/bytes/N  /echo  /upload  /info  /session  /status/NNN  /stream?n=5&ms=20  /headers/N\n"
      "/counter?key=K  /token?token=T  /early  /interim  /fault/KIND\n"
      "with any: ms=N cpu=N chunked=1 trailer=1 token=T close=1\n";
  const auto path = call.request.target.raw_path;
  if (path.ends_with('/') || path == "*") {
    answer(call, 200, kText, kPage);
  } else {
    answer(call, 404, kText, "no such page; / lists what there is\n");
  }
}

}  // namespace pontage::origin
