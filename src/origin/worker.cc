#include "src/origin/worker.h"

#include <pthread.h>

#include "src/net/recycler.h"
#include "src/origin/ajp_session.h"
#include "src/origin/app.h"
#include "src/origin/fastcgi_session.h"
#include "src/origin/http_session.h"
#include "src/origin/scgi_session.h"

namespace pontage::origin {
namespace {

constexpr std::size_t kSpareWork = 64;

}  // namespace

std::string_view name_of(Protocol protocol) noexcept {
  switch (protocol) {
    case Protocol::http: return "http";
    case Protocol::ajp: return "ajp";
    case Protocol::fastcgi: return "fastcgi";
    case Protocol::scgi: return "scgi";
    case Protocol::uwsgi: return "uwsgi";
  }
  return {};
}

Worker::Worker(unsigned id, App& app) : reactor_(id), app_(&app) {}

Worker::~Worker() {
  stop_and_join();
}

void Worker::open(Protocol protocol, util::UniqueFd listener) {
  auto accepted = [this, protocol](util::UniqueFd fd, const net::Address&) { accept(protocol, std::move(fd)); };
  acceptors_.push_back(std::make_unique<net::Acceptor>(reactor_, std::move(listener), std::move(accepted)));
}

void Worker::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "pontage-origin");
    reactor_.run();
    net::Recycler::trim();
  });
}

void Worker::stop_and_join() {
  if (!thread_.joinable()) return;
  reactor_.post([this] { end_all(); });
  thread_.join();
}

void Worker::end_all() {
  stopping_ = true;
  acceptors_.clear();
  if (sessions_.empty()) reactor_.stop();
  sessions_.for_each([](Session& session) { session.cancel(); });
}

void Worker::accept(Protocol protocol, util::UniqueFd fd) {
  std::unique_ptr<Session> session;
  const auto number = app_->next_connection();
  switch (protocol) {
    case Protocol::http: session = std::make_unique<HttpSession>(*this, std::move(fd), number); break;
    case Protocol::ajp: session = std::make_unique<AjpSession>(*this, std::move(fd), number, app_->options()); break;
    case Protocol::fastcgi: session = std::make_unique<FastCgiSession>(*this, std::move(fd), number); break;
    case Protocol::scgi:
      session = std::make_unique<ScgiSession>(*this, std::move(fd), number, name_of(protocol), cgi::StatusStyle::field);
      break;
    case Protocol::uwsgi:
      session = std::make_unique<UwsgiSession>(*this, std::move(fd), number, name_of(protocol), cgi::StatusStyle::line);
      break;
  }
  sessions_.push_back(*session);
  session.release()->start();  // it is destroyed by remove()
}

void Worker::remove(Session& session) noexcept {
  delete &session;
  if (stopping_ && sessions_.empty()) reactor_.stop();
}

std::unique_ptr<Work> Worker::take_work() {
  if (spare_.empty()) return std::make_unique<Work>();
  auto work = std::move(spare_.back());
  spare_.pop_back();
  return work;
}

void Worker::give_back(std::unique_ptr<Work> work) noexcept {
  work->out.clear();
  if (spare_.size() < kSpareWork) spare_.push_back(std::move(work));
}

std::string_view Worker::date() noexcept {
  if (date_second_ != reactor_.unix_seconds()) {
    date_second_ = reactor_.unix_seconds();
    date_ = message::format_http_date(date_second_);
  }
  return {date_.data(), date_.size()};
}

}  // namespace pontage::origin
