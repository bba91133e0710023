#include "src/admin/admin_server.h"

#include <chrono>

#include "protocols/http1/decoder.h"
#include "src/net/acceptor.h"
#include "src/net/address.h"

namespace pontage::admin {

using asio::ip::tcp;

namespace {

constexpr int kMostConnections = 64;
constexpr auto kPatience = std::chrono::seconds(5);

struct Page {
  std::string_view status = "200 OK";
  std::string_view type = "text/plain; charset=utf-8";
  std::string body;
};

}  // namespace

struct AdminServer::State : std::enable_shared_from_this<AdminServer::State> {
  State(asio::io_context& io, AdminPages p) : loop(io), pages(std::move(p)), acceptor(io) {}

  Page page_for(const message::RequestHead& request) const {
    if (request.method != message::Method::get && request.method != message::Method::head) {
      return {"405 Method Not Allowed", "text/plain; charset=utf-8", "GET only\n"};
    }
    if (request.target.raw_path == "/metrics")
      return {"200 OK", "text/plain; version=0.0.4; charset=utf-8", pages.metrics()};
    if (request.target.raw_path == "/healthz") return {"200 OK", "text/plain; charset=utf-8", "ok\n"};
    if (request.target.raw_path == "/readyz") {
      if (pages.ready()) return {"200 OK", "text/plain; charset=utf-8", "ready\n"};
      return {"503 Service Unavailable", "text/plain; charset=utf-8", "not ready\n"};
    }
    return {"404 Not Found", "text/plain; charset=utf-8", "there are /metrics, /healthz and /readyz\n"};
  }

  static std::string render(const Page& page, bool head_only) {
    std::string text = "HTTP/1.1 ";
    text.append(page.status).append("\r\nContent-Type: ").append(page.type);
    text.append("\r\nContent-Length: ").append(std::to_string(page.body.size()));
    text.append("\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
    if (!head_only) text.append(page.body);
    return text;
  }

  asio::awaitable<void> serve(std::shared_ptr<tcp::socket> socket) {
    ++connections;
    asio::steady_timer deadline(loop, kPatience);
    deadline.async_wait([socket](boost::system::error_code failed) {
      if (!failed) socket->close(failed);
    });
    http1::RequestDecoder decoder(wire::HeadLimits{.headers = 8 * 1024});
    message::Arena arena;
    message::RequestHead request;
    std::array<char, 2048> room;
    for (;;) {
      const auto [failed, got] = co_await socket->async_read_some(asio::buffer(room), kAwait);
      if (failed) break;
      const auto step = decoder.decode({room.data(), got}, arena, request);
      if (step && step->event == http1::HeadEvent::need_more) continue;
      const Page page =
          step ? page_for(request) : Page{"400 Bad Request", "text/plain; charset=utf-8", "bad request\n"};
      const std::string answer = render(page, request.method == message::Method::head);
      co_await asio::async_write(*socket, asio::buffer(answer), kAwait);
      break;
    }
    deadline.cancel();
    boost::system::error_code ignored;
    socket->shutdown(tcp::socket::shutdown_both, ignored);
    socket->close(ignored);
    --connections;
  }

  asio::awaitable<void> accept_all() {
    const auto self = shared_from_this();
    while (acceptor.is_open()) {
      auto [failed, socket] = co_await acceptor.async_accept(kAwait);
      if (failed == asio::error::operation_aborted || failed == asio::error::bad_descriptor) co_return;
      if (failed) {  // out of descriptors, most likely: not in a busy loop
        asio::steady_timer pause(loop, std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      if (connections >= kMostConnections) continue;
      asio::co_spawn(loop, serve_shared(self, std::make_shared<tcp::socket>(std::move(socket))), asio::detached);
    }
  }

  static asio::awaitable<void> serve_shared(std::shared_ptr<State> self, std::shared_ptr<tcp::socket> socket) {
    co_await self->serve(std::move(socket));
  }
  static asio::awaitable<void> accept_shared(std::shared_ptr<State> self) { co_await self->accept_all(); }

  asio::io_context& loop;
  AdminPages pages;
  tcp::acceptor acceptor;
  std::string address;
  int connections = 0;
};

AdminServer::AdminServer(asio::io_context& loop, AdminPages pages)
    : state_(std::make_shared<State>(loop, std::move(pages))) {}

AdminServer::~AdminServer() {
  close();
}

bool AdminServer::listen(const std::string& bind, std::string& error) {
  const auto address = net::Address::from_bind(bind);
  if (!address || address->is_unix()) {
    error = "cannot listen on " + bind + ": not an address";
    return false;
  }
  int os_error = 0;
  util::UniqueFd fd = net::listen_on(*address, false, os_error);
  if (!fd) {
    error = "cannot listen on " + bind + ": " + ::strerrordesc_np(os_error);
    return false;
  }
  close();
  state_->address = net::local_address(fd.get()).text();
  state_->acceptor.assign(address->family() == AF_INET6 ? tcp::v6() : tcp::v4(), fd.release());
  asio::co_spawn(state_->loop, State::accept_shared(state_), asio::detached);
  return true;
}

std::string AdminServer::address() const {
  return state_->address;
}

void AdminServer::close() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->address.clear();
}

}  // namespace pontage::admin
