// A handler whose answers a test writes down, wrapped by a CompressHandler, and a way to ask it as a session would.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocols/wire/ascii.h"
#include "src/handlers/compress.h"
#include "src/http/simple_response.h"
#include "tests/unit/http_encoder/decode.h"
#include "tests/unit/net/loop.h"

namespace pontage::handlers::testing {

using Fields = std::vector<std::pair<std::string, std::string>>;

// What one pull of the scripted body gives.
struct Act {
  enum class Kind : std::uint8_t {
    give,   // a batch
    quiet,  // nothing is ready: an empty batch, or a wait until the others had a turn
    fail,
  };
  Kind kind = Kind::give;
  std::string bytes{};
  http::Flush flush = http::Flush::no;
  http::Last last = http::Last::no;
  int file = -1;  // instead of bytes: that many of it, from the offset on
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};
inline Act give(std::string bytes) {
  return {.bytes = std::move(bytes)};
}
inline Act flushed(std::string bytes) {
  return {.bytes = std::move(bytes), .flush = http::Flush::now};
}
inline Act last(std::string bytes = {}) {
  return {.bytes = std::move(bytes), .last = http::Last::yes};
}
inline Act quiet() {
  return {.kind = Act::Kind::quiet};
}
inline Act failure() {
  return {.kind = Act::Kind::fail};
}

struct Script {
  int status = 200;
  Fields fields{{"Content-Type", "text/html; charset=utf-8"}};
  message::BodyFraming framing{message::BodyKind::chunked, 0};
  std::vector<Act> acts{};
  Fields trailers{};
  bool body = true;
  std::string prepared{};
};
// A page of a known length.
inline Script page(std::string bytes) {
  Script script;
  script.framing = {message::BodyKind::exact, bytes.size()};
  script.acts = {last(std::move(bytes))};
  return script;
}

// Counts what becomes of the bodies it is.
class ScriptedBody final : public http::BodySource {
 public:
  ScriptedBody(const Script& script, message::Arena& arena) : acts_(script.acts.begin(), script.acts.end()) {
    trailers_ = message::HeaderList(arena);
    for (const auto& [name, value] : script.trailers) trailers_.add(name, value);
  }
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t, http::Patience patience) override {
    ++pulls;
    EXPECT_FALSE(over_) << "pulled after its end";
    while (!acts_.empty() && acts_.front().kind == Act::Kind::quiet) {
      if (patience == http::Patience::none) co_return util::Result<void>{};
      ++waits;
      acts_.pop_front();
      net::Yield others;
      co_await others;
    }
    if (acts_.empty() || acts_.front().kind == Act::Kind::fail) {
      over_ = true;
      co_return util::fail(util::ErrorKind::reset, util::Source::server, "scripted");
    }
    act_ = std::move(acts_.front());
    acts_.pop_front();
    batch.add(act_.bytes);
    if (act_.file >= 0) {
      batch.pieces[batch.count++] = {.memory = {}, .file = act_.file, .offset = act_.offset, .count = act_.count};
    }
    batch.flush = act_.flush;
    batch.last = act_.last;
    over_ = act_.last == http::Last::yes;
    if (over_ && !trailers_.empty()) batch.trailers = &trailers_;
    co_return util::Result<void>{};
  }
  void drop() noexcept override { ++drops; }

  unsigned pulls = 0;
  unsigned waits = 0;
  unsigned drops = 0;

 private:
  std::deque<Act> acts_;
  Act act_;
  message::HeaderList trailers_;
  bool over_ = false;
};

class ScriptedHandler final : public http::Handler {
 public:
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override {
    if (error) co_return util::Failure(*error);
    http::Response response;
    response.head.status = script.status;
    response.head.headers = message::HeaderList(exchange.arena);
    for (const auto& [name, value] : script.fields) response.head.headers.add(name, value);
    response.head.body = script.framing;
    response.prepared = script.prepared;
    if (script.body) {
      body.emplace(script, exchange.arena);
      response.body = http::BodyPtr(&*body);
    }
    co_return response;
  }

  Script script;
  std::optional<util::Error> error;
  std::optional<ScriptedBody> body;
};

struct Batch {
  std::string bytes;
  bool flush = false;
  bool last = false;
};
struct Answer {
  int status = 0;
  Fields fields{};
  message::BodyFraming framing{};
  std::string prepared{};
  bool has_body = false;
  std::vector<Batch> batches{};
  Fields trailers{};
  std::optional<util::Error> error{};       // instead of a response
  std::optional<util::Error> body_error{};  // where the body broke off

  std::string operator[](std::string_view name) const {
    std::string values;
    for (const auto& [n, value] : fields) {
      if (wire::iequals(n, name)) values += (values.empty() ? "" : " | ") + value;
    }
    return values;
  }
  std::string bytes() const {
    std::string all;
    for (const auto& batch : batches) all += batch.bytes;
    return all;
  }
  bool compressed() const { return !(*this)["Content-Encoding"].empty(); }
  pontage::testing::Decoded decoded() const {
    const auto coding = message::parse_content_coding((*this)["Content-Encoding"]);
    return pontage::testing::decode(coding.value_or(message::ContentCoding::identity), bytes());
  }
};

inline config::Compression all_codings() {
  config::Compression rules;
  rules.codings = {message::ContentCoding::zstd, message::ContentCoding::br, message::ContentCoding::gzip};
  return rules;
}

class Bench {
 public:
  explicit Bench(config::Compression rules = all_codings()) {
    auto scripted = std::make_unique<ScriptedHandler>();
    inner = scripted.get();
    handler = std::make_unique<CompressHandler>(std::move(scripted), std::move(rules));
  }

  Answer ask(Script script) {
    inner->script = std::move(script);
    net::testing::Loop loop;
    http::Exchange exchange(loop.reactor);
    exchange.fiber = &loop.fiber;
    exchange.request.method = method;
    exchange.request.headers = message::HeaderList(exchange.arena);
    for (const auto& [name, value] : request) exchange.request.headers.add(name, value);
    Answer answer;
    loop.run(run(exchange, answer));
    return answer;
  }
  Answer ask_for(std::string_view coding, Script script) {
    request = {{"Accept-Encoding", std::string(coding)}};
    return ask(std::move(script));
  }

  message::Method method = message::Method::get;
  Fields request{{"Accept-Encoding", "gzip"}};
  std::size_t budget = 256 * 1024;
  unsigned most_pulls = ~0U;        // then the client goes
  bool cancel_after_first = false;  // the client goes while the body is pulled
  ScriptedHandler* inner;
  std::unique_ptr<CompressHandler> handler;

 private:
  net::Task<void> run(http::Exchange& exchange, Answer& answer) {
    auto response = co_await handler->handle(exchange);
    if (!response) {
      answer.error = response.error();
      co_return;
    }
    answer.status = response->head.status;
    for (const auto& h : response->head.headers) answer.fields.emplace_back(h.name, h.value);
    answer.framing = response->head.body;
    answer.prepared = response->prepared;
    answer.has_body = response->body != nullptr;
    if (answer.has_body && method != message::Method::head) co_await take_body(exchange, *response->body, answer);
  }
  net::Task<void> take_body(http::Exchange& exchange, http::BodySource& body, Answer& answer) {
    http::Patience patience = http::Patience::none;
    for (unsigned pulls = 0; pulls < most_pulls; ++pulls) {
      http::BodyBatch batch;
      const auto pulled = co_await body.pull(batch, budget, patience);
      if (!pulled) {
        answer.body_error = pulled.error();
        co_return;
      }
      EXPECT_LE(batch.bytes(), budget);
      EXPECT_TRUE(patience == http::Patience::none || batch.bytes() > 0 || batch.last == http::Last::yes);
      Batch& taken = answer.batches.emplace_back();
      for (const auto& piece : batch.view()) taken.bytes += piece.memory;
      taken.flush = batch.flush == http::Flush::now;
      taken.last = batch.last == http::Last::yes;
      if (batch.trailers != nullptr) {
        for (const auto& h : *batch.trailers) answer.trailers.emplace_back(h.name, h.value);
      }
      if (taken.last) co_return;
      if (cancel_after_first) exchange.fiber->cancel();
      patience = http::Patience::wait;
    }
  }
};

}  // namespace pontage::handlers::testing
