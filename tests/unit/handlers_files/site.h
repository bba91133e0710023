// A site of files in a directory of its own, and a way to ask a FilesHandler for them as a session would.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "src/handlers/files.h"
#include "src/net/blocking_pool.h"
#include "tests/unit/cache/temp_tree.h"

namespace pontage::handlers {

inline constexpr auto kBeneath = config::FilesAction::Symlinks::beneath;

struct Request {
  std::string target = "/";
  message::Method method = message::Method::get;
  std::map<message::HeaderId, std::string> fields{};
  std::string forward{};  // empty: the canonical path
  bool bare_prefix = false;
  bool cancelled = false;  // the client leaves as soon as it has asked
};

struct Answer {
  int status = 0;  // 0: an error
  util::Error error;
  util::Error body_error;
  bool body_failed = false;
  std::map<std::string, std::string> fields;
  std::string prepared;
  std::string body;
  std::string cache;
  message::BodyFraming framing;
  unsigned pulls = 0;
  std::string operator[](const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
};

class Site {
 public:
  explicit Site(config::FilesAction::Symlinks symlinks = config::FilesAction::Symlinks::beneath,
                config::Config::StaticCache limits = {})
      : files(limits), pool(2) {
    tree.mkdir("root");
    action.root = tree.at("root");
    action.symlinks = symlinks;
    remake();
  }

  // The handler that `action` and `compression` describe now.
  void remake(std::uint32_t id = 1, cache::Resolver resolver = cache::Resolver::kernel) {
    handler = std::make_unique<FilesHandler>(std::make_shared<const FilesPolicy>(action, compression, id, resolver),
                                             cache::Keeping{.files = &files}, pool);
  }

  Answer get(std::string target, std::map<message::HeaderId, std::string> fields = {}) {
    return ask({.target = std::move(target), .fields = std::move(fields)});
  }

  Answer ask(const Request& request) {
    net::Reactor& reactor = reactors.emplace_back();
    net::Fiber fiber(reactor);
    http::Exchange exchange(reactor);
    exchange.fiber = &fiber;
    exchange.unix_seconds = ::time(nullptr);
    exchange.request.method = request.method;
    exchange.request.method_text = message::to_string(request.method);
    exchange.request.headers = message::HeaderList(exchange.arena);
    for (const auto& [id, value] : request.fields) exchange.request.headers.add(id, value);
    const auto target = message::parse_target(request.target, request.method);
    if (!target) return {};
    exchange.request.target = *target;
    const auto path = message::canonical_path(target->raw_path, message::Slashes::merge, exchange.arena);
    if (!path) return {};
    exchange.path = *path;
    exchange.forward_path = request.forward.empty() ? exchange.path.path : std::string_view(request.forward);
    exchange.bare_prefix = request.bare_prefix;
    Answer answer;
    net::launch(
        fiber, run(exchange, answer), [](void* r) noexcept { static_cast<net::Reactor*>(r)->stop(); }, &reactor);
    if (request.cancelled) fiber.cancel();
    reactor.run();
    return answer;
  }

  testing::TempTree tree;
  config::FilesAction action;
  config::Compression compression;
  cache::FileCache files;
  std::deque<net::Reactor> reactors;  // a look left behind reports to its own, so they outlive the pool
  net::BlockingPool pool;
  std::unique_ptr<FilesHandler> handler;
  // Called between the pulls of a body.
  std::function<void()> between_pulls;
  std::uint64_t most_body = 1 << 24;  // of each file range, that much is read

 private:
  net::Task<void> run(http::Exchange& exchange, Answer& answer) {
    auto response = co_await handler->handle(exchange);
    answer.cache = exchange.outcome.cache;
    if (!response) {
      answer.error = response.error();
      co_return;
    }
    answer.status = response->head.status;
    answer.framing = response->head.body;
    answer.prepared = response->prepared;
    for (const auto& h : response->head.headers) answer.fields[std::string(h.name)] = h.value;
    while (response->body != nullptr) {
      http::BodyBatch batch;
      const auto pulled = co_await response->body->pull(batch, 4096, http::Patience::wait);
      ++answer.pulls;
      if (!pulled) {
        answer.body_failed = true;
        answer.body_error = pulled.error();
        break;
      }
      for (const auto& piece : batch.view()) answer.body += bytes_of(piece);
      if (batch.last == http::Last::yes) break;
      if (between_pulls) between_pulls();
    }
  }
  std::string bytes_of(const http::Piece& piece) const {
    if (piece.file < 0) return std::string(piece.memory);
    std::string bytes(std::min(piece.count, most_body), '\0');
    const auto got = ::pread(piece.file, bytes.data(), bytes.size(), static_cast<off_t>(piece.offset));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
};

}  // namespace pontage::handlers
