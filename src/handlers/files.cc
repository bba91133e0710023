#include "src/handlers/files.h"

#include <utility>

#include "src/handlers/files_response.h"
#include "src/http/error_page.h"
#include "src/http/simple_response.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using cache::FileKind;
using http::Exchange;
using http::Response;
using message::HeaderId;
using message::Method;

constexpr std::string_view kAllowed = "GET, HEAD";

Response other_method(Exchange& exchange) {
  Response response = exchange.request.method == Method::options
                          ? http::make_response(exchange, 204, {}, {})
                          : http::make_error_response(exchange, 405, "files are for GET and HEAD");
  response.prepared = {};
  response.head.headers.add(HeaderId::allow, kAllowed);
  return response;
}

Response to_directory(Exchange& exchange) {
  Response response = http::make_response(exchange, 301, {}, {});
  response.head.headers.add(HeaderId::location,
                            directory_location(exchange.path.path, exchange.request.target, exchange.arena));
  return response;
}

std::string_view explain(int status) noexcept {
  if (status == 403) return "the file may not be read";
  return status == 404 ? std::string_view("no such file") : std::string_view{};
}

}  // namespace

FilesHandler::FilesHandler(std::shared_ptr<const FilesPolicy> policy, cache::Keeping keeping, net::BlockingPool& pool)
    : policy_(std::move(policy)), keeping_(keeping), pool_(pool) {
  if (policy_->action().cache == config::FilesAction::Cache::uncached) keeping_ = {};
}

// The way of nearly all requests: the first candidate is the path itself, and the cache knows it.
net::Task<util::Result<Response>> FilesHandler::handle(Exchange& exchange) {
  using Answer = net::Task<util::Result<Response>>;
  const FilePath path = file_path(exchange.forward_path, exchange.arena);
  if (path.verdict == PathVerdict::bad) {
    return Answer::ready(util::fail_decode(wire::DecodeError::malformed_target, util::Source::client));
  }
  const Method method = exchange.request.method;
  const Candidate& first = policy_->candidates().front();
  const bool plain = (method == Method::get || method == Method::head) && path.verdict == PathVerdict::fine &&
                     path.end == PathEnd::name && first.kind == Candidate::Kind::file;
  if (!plain || policy_->chooses()) return serve(exchange, path);
  cache::Found found = recall(exchange, first.name_for(path.relative, exchange.arena));
  if (found.freshness != cache::Freshness::fresh || found.entry->kind() != FileKind::file) return serve(exchange, path);
  return Answer::ready(file_response(exchange, std::move(found.entry), *policy_));
}

net::Task<util::Result<Response>> FilesHandler::serve(Exchange& exchange, FilePath path) {
  auto answering = answer(exchange, path);
  util::Result<Response> response = co_await answering;
  if (!response || response->head.status < 400 || policy_->error_file(response->head.status).empty())
    co_return response;
  auto dressing = with_error_file(exchange, std::move(*response));
  co_return co_await dressing;
}

net::Task<util::Result<Response>> FilesHandler::answer(Exchange& exchange, const FilePath& path) {
  const Method method = exchange.request.method;
  if (method != Method::get && method != Method::head) co_return other_method(exchange);
  if (path.verdict == PathVerdict::hidden) co_return http::make_error_response(exchange, 404, explain(404));
  if (exchange.bare_prefix && path.end == PathEnd::slash) co_return to_directory(exchange);
  auto choosing = choose(exchange, path);
  util::Result<Choice> chosen = co_await choosing;
  if (!chosen) co_return util::Failure(chosen.error());
  auto responding = respond(exchange, std::move(*chosen));
  co_return co_await responding;
}

net::Task<util::Result<Response>> FilesHandler::respond(Exchange& exchange, Choice choice) {
  switch (choice.kind) {
    case Choice::Kind::error: co_return http::make_error_response(exchange, choice.status, explain(choice.status));
    case Choice::Kind::redirect: co_return to_directory(exchange);
    case Choice::Kind::listing: {
      auto listing = list(exchange, choice.folder);
      co_return co_await listing;
    }
    case Choice::Kind::file: break;
  }
  const std::int64_t expires = policy_->says_expires() ? policy_->expires_after(choice.entry->path()) : -1;
  auto negotiating = negotiate(exchange, std::move(choice.entry));
  EntryRef entry = co_await negotiating;
  Response response = file_response(exchange, std::move(entry), *policy_);
  if (expires >= 0 && response.head.status < 400) add_expires(exchange, response, expires);
  co_return response;
}

net::Task<util::Result<Response>> FilesHandler::with_error_file(Exchange& exchange, Response response) {
  const std::string_view name = policy_->error_file(response.head.status);
  auto looking = look_up(exchange, name);
  util::Result<EntryRef> entry = co_await looking;
  // The plain page is better than none.
  if (!entry || (*entry)->kind() != FileKind::file) co_return response;
  dress_error(exchange, response, std::move(*entry));
  co_return response;
}

// Tries the candidates in turn; the first that is something decides.
net::Task<util::Result<FilesHandler::Choice>> FilesHandler::choose(Exchange& exchange, const FilePath& path) {
  // A rewrite may have taken the slash away that the client sent: nothing to redirect to then.
  const bool slashed = path.end == PathEnd::slash || exchange.path.match.ends_with('/');
  Choice choice;
  for (const Candidate& candidate : policy_->candidates()) {
    if (candidate.kind == Candidate::Kind::status) {
      choice.status = candidate.status;
      co_return choice;
    }
    const std::string_view name = candidate.name_for(path.relative, exchange.arena);
    if (candidate.kind == Candidate::Kind::file) {
      // A name that ends in a slash is no file, unless the slash is gone after the rewrite.
      if (candidate.uses_path && path.end == PathEnd::slash) continue;
      auto looking = look_up(exchange, name);
      util::Result<EntryRef> entry = co_await looking;
      if (!entry) co_return util::Failure(entry.error());
      const FileKind kind = (*entry)->kind();
      if (kind == FileKind::forbidden) choice.status = 403;
      if (kind == FileKind::file) choice.kind = Choice::Kind::file;
      if (kind == FileKind::file) choice.entry = std::move(*entry);
      if (kind == FileKind::file || kind == FileKind::forbidden) co_return choice;
      continue;
    }
    auto trying = try_folder(exchange, name, candidate.uses_path && !slashed ? PathEnd::name : PathEnd::slash);
    util::Result<Choice> tried = co_await trying;
    if (!tried) co_return util::Failure(tried.error());
    if (tried->kind != Choice::Kind::error || tried->status != 404) co_return tried;
  }
  co_return choice;
}

net::Task<util::Result<FilesHandler::Choice>> FilesHandler::try_folder(Exchange& exchange, std::string_view folder,
                                                                       PathEnd end) {
  Choice choice;
  const bool must_exist = end == PathEnd::name || policy_->action().listing;
  if (must_exist && !folder.empty()) {
    auto looking = look_up(exchange, folder);
    util::Result<EntryRef> entry = co_await looking;
    if (!entry) co_return util::Failure(entry.error());
    if ((*entry)->kind() != FileKind::directory) co_return choice;
  }
  if (end == PathEnd::name) {
    choice.kind = Choice::Kind::redirect;
    co_return choice;
  }
  auto finding = find_index(exchange, folder);
  util::Result<EntryRef> index = co_await finding;
  if (!index) co_return util::Failure(index.error());
  if (*index && (*index)->kind() == FileKind::file) {
    choice.kind = Choice::Kind::file;
    choice.entry = std::move(*index);
  } else if (*index) {
    choice.status = 403;
  } else if (policy_->action().listing) {
    choice.kind = Choice::Kind::listing;
    choice.folder = folder;
  }
  co_return choice;
}

// The first of the index names that is a file, or is one we may not read; empty when there is none.
net::Task<util::Result<EntryRef>> FilesHandler::find_index(Exchange& exchange, std::string_view folder) {
  for (const std::string& name : policy_->action().index) {
    const std::string_view path = folder.empty() ? std::string_view(name) : exchange.arena.join({folder, "/", name});
    auto looking = look_up(exchange, path);
    util::Result<EntryRef> entry = co_await looking;
    if (!entry) co_return entry;
    const FileKind kind = (*entry)->kind();
    if (kind == FileKind::file || kind == FileKind::forbidden) co_return entry;
  }
  co_return EntryRef();
}

}  // namespace pontage::handlers
