#include "src/frontend/session_host.h"

#include "protocols/message/http_date.h"
#include "protocols/wire/sink.h"
#include "src/frontend/http1_work.h"
#include "src/frontend/http2_stream.h"

namespace pontage::frontend {

SessionHost::SessionHost(net::Reactor& reactor, observe::WorkerMetrics& metrics, const SessionSeries& series,
                         observe::AccessRing* log, net::BlockingPool* disk)
    : reactor_(&reactor), metrics_(&metrics), series_(&series), log_(log), disk_(disk) {}

SessionHost::~SessionHost() = default;

void SessionHost::set_site(std::shared_ptr<const routing::Site> site) {
  // A control block of this worker's own, so that counting up and down for each exchange never leaves its cache.
  auto holder = std::make_shared<std::shared_ptr<const routing::Site>>(std::move(site));
  const routing::Site* raw = holder->get();
  site_ = std::shared_ptr<const routing::Site>(std::move(holder), raw);
  sessions_.for_each([](Session& session) { session.on_new_site(); });
}

void SessionHost::begin(std::unique_ptr<Session> session) {
  if (begun_) begun_(session->connection());
  Session* begun = session.release();
  sessions_.push_back(*begun);
  ++count_;
  begun->start();
}

void SessionHost::remove(Session& session) noexcept {
  session.unlink();
  if (removed_) removed_(session.connection());
  delete &session;
  --count_;
  tell_empty();
}

// Once: a connection that was dealt to us late may come and go after that.
void SessionHost::tell_empty() noexcept {
  if (count_ != 0 || !draining_ || !empty_) return;
  const auto empty = std::exchange(empty_, nullptr);
  empty();
}

void SessionHost::drain() noexcept {
  draining_ = true;
  sessions_.for_each([](Session& session) { session.drain(); });
  tell_empty();
}

void SessionHost::cancel_all() noexcept {
  sessions_.for_each([](Session& session) { session.cancel(); });
}

void SessionHost::cancel_older_than(std::uint64_t oldest) noexcept {
  sessions_.for_each([oldest](Session& session) { session.cancel_older_than(oldest); });
}

std::string_view SessionHost::date_lines() noexcept {
  if (date_second_ != reactor_->unix_seconds()) {
    date_second_ = reactor_->unix_seconds();
    wire::Sink sink(date_lines_);
    const auto date = message::format_http_date(date_second_);
    sink.append("Date: ");
    sink.append({date.data(), date.size()});
    sink.append("\r\nServer: pontage\r\n");
    date_size_ = sink.size();
  }
  return {date_lines_, date_size_};
}

}  // namespace pontage::frontend
