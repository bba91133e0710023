#include "src/origin/session.h"

#include <cstring>
#include <span>

#include "src/origin/app.h"
#include "src/origin/worker.h"

namespace pontage::origin {

using net::IoStatus;
using observe::Phase;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kIdleMs = 300'000;  // between requests
constexpr std::uint64_t kStallMs = 60'000;  // within one
constexpr std::uint64_t kLingerMs = 5'000;
constexpr std::uint32_t kTurnShare = 32;  // operations in a row before others get their turn

util::Failure was_cancelled() {
  return util::fail(ErrorKind::cancelled, Source::gateway, "origin stops");
}

}  // namespace

net::IoResult Input::fill(net::ByteStream& stream) noexcept {
  if (!chunk_) {
    chunk_ = stream.reactor().chunks().take();
    begin_ = end_ = 0;
    if (!chunk_) return {.status = IoStatus::error, .os_error = ENOBUFS};
  }
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == net::ChunkPool::kChunk) {
    std::memmove(chunk_.data(), chunk_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const auto got = stream.try_read(chunk_.span().subspan(end_));
  if (got.status == IoStatus::done) end_ += got.bytes;
  return got;
}

void Input::relax() noexcept {
  if (empty()) chunk_.reset();
}

Session::Session(Worker& worker, util::UniqueFd fd, std::uint64_t number)
    : worker_(&worker), stream_(worker.reactor(), std::move(fd)), fiber_(worker.reactor()), number_(number) {
  stream_.watch_hangup(&Session::on_hangup, this);
}

Session::~Session() = default;

void Session::start() {
  net::launch(fiber_, run(), &Session::on_done, this);
}

void Session::on_done(void* self) noexcept {
  auto* session = static_cast<Session*>(self);
  session->worker_->remove(*session);
}

// A peer that only closed its direction still gets its answer; one that is gone needs none.
void Session::on_hangup(void* self) noexcept {
  auto* session = static_cast<Session*>(self);
  if (session->stream_.peer_reset()) session->fiber_.cancel();
}

std::string_view Session::date() noexcept {
  return worker_->date();
}

void Session::begin_work() {
  if (!work_) work_ = worker_->take_work();
  work_->arena.reset();
  work_->head = {};
}

net::Task<void> Session::run() {
  while (after_ == After::keep) {
    const auto found = co_await next_request();
    if (!found || !*found) break;
    ++requests_;
    auto done = co_await worker_->app().serve(*this);
    if (done) done = co_await finish();
    if (!done) after_ = After::abort;  // a truncated answer must not look complete
  }
  co_await end();
  if (work_) worker_->give_back(std::move(work_));
}

net::Task<void> Session::end() {
  if (work_) {
    const auto sent = co_await send_out();
    if (!sent && !fiber_.cancelled()) after_ = After::abort;
  }
  if (after_ == After::abort) stream_.abort_on_close();
  if (after_ != After::linger) co_return;
  stream_.shutdown_write();
  co_await linger(kLingerMs);
}

net::Task<void> Session::linger(std::uint64_t milliseconds) {
  const net::Deadline deadline = worker_->reactor().after(milliseconds);
  while (!fiber_.cancelled() && worker_->reactor().now_ms() < deadline) {
    input_.clear();
    const auto got = input_.fill(stream_);
    if (got.status == IoStatus::done) {
      co_await net::Yield();
      continue;
    }
    if (got.status != IoStatus::want_read) co_return;
    const auto waited = co_await stream_.readable(deadline, Phase::client);
    if (waited != net::WaitResult::ready) co_return;
  }
}

net::Task<Done> Session::wait_for_close() {
  const auto sent = co_await send_out();
  if (!sent) co_return sent;
  co_await linger(kStallMs);
  after_ = After::close;
  co_return Done{};
}

net::Task<Done> Session::pause(std::uint64_t milliseconds) {
  const auto sent = co_await send_out();
  if (!sent) co_return sent;
  co_return co_await pause_exactly(milliseconds);
}

net::Task<Done> Session::pause_exactly(std::uint64_t milliseconds) {
  if (milliseconds == 0) co_return Done{};
  busy_ = 0;
  net::Pause wait(worker_->reactor().now_ms() + milliseconds);
  const auto waited = co_await wait;
  if (waited == net::WaitResult::cancelled) co_return was_cancelled();
  co_return Done{};
}

net::Task<Done> Session::send_out(std::string_view tail) {
  if (fiber_.cancelled()) co_return was_cancelled();
  iovec pieces[2];
  std::size_t count = 0;
  for (const auto piece : {work_->out.view(), tail}) {
    if (!piece.empty()) pieces[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  if (count == 0) co_return Done{};
  if (++busy_ > kTurnShare) {
    busy_ = 0;
    co_await net::Yield();
  }
  const std::span<iovec> all(pieces, count);
  const auto sent = co_await net::write_all(stream_, all, net::More::no, kStallMs, Phase::client, Source::client);
  work_->out.clear();
  co_return sent;
}

net::Task<util::Result<bool>> Session::fill(Idle idle) {
  for (;;) {
    if (fiber_.cancelled()) co_return was_cancelled();
    const auto got = input_.fill(stream_);
    if (got.status == IoStatus::end) co_return false;
    if (got.status == IoStatus::error) co_return util::Failure(net::io_error(got, Source::client, "read"));
    if (got.status == IoStatus::done) {
      if (++busy_ > kTurnShare || (work_ && work_->out.size() > kMuch)) {
        busy_ = 0;
        if (work_) {
          const auto sent = co_await send_out();
          if (!sent) co_return util::Failure(sent.error());
        }
        co_await net::Yield();
      }
      co_return true;
    }
    if (work_) {
      const auto sent = co_await send_out();
      if (!sent) co_return util::Failure(sent.error());
    }
    if (idle == Idle::yes) {
      if (work_) worker_->give_back(std::move(work_));
      input_.relax();
    }
    busy_ = 0;
    const auto deadline = worker_->reactor().after(idle == Idle::yes ? kIdleMs : kStallMs);
    const auto waited = co_await stream_.readable(deadline, Phase::client);
    if (waited != net::WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::client, "read"));
  }
}

net::Task<Done> Session::drain_body() {
  constexpr std::uint64_t kWorthKeeping = 16 << 20;
  std::uint64_t drained = 0;
  for (;;) {
    const auto piece = co_await read_body();
    if (!piece) co_return util::Failure(piece.error());
    if (piece->empty()) co_return Done{};
    drained += piece->size();
    if (drained <= kWorthKeeping) continue;
    after_ = After::linger;
    co_return Done{};
  }
}

net::Task<Done> Session::fill_more() {
  const auto filled = co_await fill(Idle::no);
  if (!filled) co_return util::Failure(filled.error());
  if (!*filled) co_return util::fail(ErrorKind::closed, Source::client, "request cut short");
  co_return Done{};
}

}  // namespace pontage::origin
