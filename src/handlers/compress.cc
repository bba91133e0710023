#include "src/handlers/compress.h"

#include <array>
#include <new>
#include <optional>
#include <utility>

#include "protocols/message/content_coding.h"
#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"
#include "src/handlers/compress_body.h"
#include "src/http/encoder.h"
#include "src/http/media_type.h"

namespace pontage::handlers {
namespace {

using http::Exchange;
using http::Response;
using message::BodyKind;
using message::ContentCoding;
using message::Header;
using message::HeaderId;
using message::HeaderList;

constexpr std::string_view kAcceptEncoding = "Accept-Encoding";
// Of the bytes that are sent, or of the representation with its coding (RFC 9530): true no longer.
constexpr std::array<std::string_view, 4> kDigests{"Content-MD5", "Digest", "Content-Digest", "Repr-Digest"};

bool forbids_transformation(const HeaderList& headers) noexcept {
  for (const Header& h : headers) {
    if (h.id == HeaderId::cache_control && wire::list_has(h.value, "no-transform")) return true;
  }
  return false;
}

// "identity" is no coding, though it should not stand there (RFC 9110 8.4.1).
bool is_encoded(const HeaderList& headers) noexcept {
  bool encoded = false;
  for (const Header& h : headers) {
    if (h.id != HeaderId::content_encoding) continue;
    wire::for_each_element(h.value, [&](std::string_view coding) {
      encoded = encoded || !wire::iequals(coding, message::to_string(ContentCoding::identity));
    });
  }
  return encoded;
}

bool varies(const HeaderList& headers) noexcept {
  for (const Header& h : headers) {
    if (h.id == HeaderId::vary && (wire::list_has(h.value, "*") || wire::list_has(h.value, kAcceptEncoding)))
      return true;
  }
  return false;
}

void add_vary(Response& response, Exchange& exchange) {
  if (varies(response.head.headers)) return;
  response.own_headers(exchange.arena);
  for (Header& h : response.head.headers) {
    if (h.id != HeaderId::vary || h.value.empty()) continue;
    h.value = exchange.arena.join({h.value, ", ", kAcceptEncoding});
    return;
  }
  response.head.headers.add(HeaderId::vary, kAcceptEncoding);
}

// `headers` is a private copy.
void weaken_etag(HeaderList& headers, message::Arena& arena) {
  for (Header& h : headers) {
    if (h.id == HeaderId::etag && h.value.starts_with('"')) h.value = arena.join({"W/", h.value});
  }
}

void answer_not_modified(Response& response, Exchange& exchange) {
  const std::string_view etag = response.head.headers.value(HeaderId::etag);
  if (!etag.starts_with('"')) return;
  bool asked_weakly = false;
  for (const Header& h : exchange.request.headers) {
    if (h.id != HeaderId::if_none_match) continue;
    // No quote stands inside a tag, so one that is found is one.
    for (auto at = h.value.find(etag); at != std::string_view::npos; at = h.value.find(etag, at + 1)) {
      asked_weakly = asked_weakly || h.value.substr(0, at).ends_with("W/");
    }
  }
  if (!asked_weakly) return;
  response.own_headers(exchange.arena);
  weaken_etag(response.head.headers, exchange.arena);
  add_vary(response, exchange);
}

// Of the body that GET would get; nullopt when it is not known.
std::optional<std::uint64_t> known_length(const Response& response) noexcept {
  if (response.head.body.kind == BodyKind::exact) return response.head.body.length;
  // A server's answer to HEAD tells the length where no body is.
  return wire::parse_decimal(response.head.headers.value(HeaderId::content_length));
}

bool is_whole(int status) noexcept {
  return !message::forbids_body(status) && status != 205 && status != 206;
}

bool worth_compressing(const Response& response, const Exchange& exchange, const config::Compression& rules) noexcept {
  const bool head = exchange.request.method == message::Method::head;
  const bool body = response.body != nullptr && response.head.body.kind != BodyKind::none;
  if (!is_whole(response.head.status) || !(head || body)) return false;
  if (response.head.headers.has(HeaderId::content_range) || is_encoded(response.head.headers)) return false;
  const auto length = known_length(response);
  return !length || (*length > 0 && *length >= rules.min_size);
}

// The head says `coding`; it is that of a body whose length nobody knows.
void rewrite_head(Response& response, Exchange& exchange, ContentCoding coding) {
  response.own_headers(exchange.arena);
  HeaderList& headers = response.head.headers;
  headers.remove_if([](const Header& h) {
    if (h.id == HeaderId::content_length || h.id == HeaderId::content_encoding || h.id == HeaderId::accept_ranges) {
      return true;
    }
    if (h.id != HeaderId::unknown) return false;
    for (const std::string_view digest : kDigests) {
      if (wire::iequals(h.name, digest)) return true;
    }
    return false;
  });
  headers.add(HeaderId::content_encoding, message::to_string(coding));
  weaken_etag(headers, exchange.arena);
}

void compress(Response& response, Exchange& exchange, ContentCoding coding, const config::Compression& rules) {
  if (exchange.request.method == message::Method::head) {
    rewrite_head(response, exchange, coding);
    response.head.body = {};
    return;
  }
  auto share = EncoderShare::take(http::most_encoder_memory(coding, http::encoder_level(coding, rules)));
  http::EncoderPtr encoder = share ? http::ContentEncoder::make(coding, rules) : nullptr;
  if (encoder == nullptr) return;
  rewrite_head(response, exchange, coding);
  void* room = exchange.arena.allocate(sizeof(CompressBody), alignof(CompressBody));
  const message::BodyFraming promised = std::exchange(response.head.body, {BodyKind::chunked, 0});
  response.body = http::BodyPtr(new (room) CompressBody(exchange.reactor(), std::move(response.body),
                                                        std::move(encoder), std::move(*share), promised));
}

void apply(Response& response, Exchange& exchange, const config::Compression& rules) {
  const HeaderList& headers = response.head.headers;
  if (message::is_interim(response.head.status) || forbids_transformation(headers)) return;
  if (!http::media_type_matches(headers.value(HeaderId::content_type), rules.types)) {
    if (response.head.status == 304) answer_not_modified(response, exchange);
    return;
  }
  add_vary(response, exchange);
  if (response.head.status == 304) return answer_not_modified(response, exchange);
  if (!worth_compressing(response, exchange, rules) || forbids_transformation(exchange.request.headers)) return;
  const ContentCoding coding = message::choose_content_coding(exchange.request.headers, rules.codings);
  if (coding != ContentCoding::identity) compress(response, exchange, coding, rules);
}

}  // namespace

CompressHandler::CompressHandler(std::unique_ptr<http::Handler> inner, config::Compression rules)
    : inner_(std::move(inner)), rules_(std::move(rules)) {}

net::Task<util::Result<Response>> CompressHandler::handle(Exchange& exchange) {
  auto response = co_await inner_->handle(exchange);
  if (response) apply(*response, exchange, rules_);
  co_return response;
}

}  // namespace pontage::handlers
