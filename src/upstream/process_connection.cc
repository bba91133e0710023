#include "src/upstream/process_connection.h"

#include <cerrno>

#include "src/observe/log.h"

namespace pontage::upstream {

namespace {
// Output ends a moment before the process that ends; one that still runs then has closed it on purpose.
constexpr std::uint64_t kEndMs = 100;
}  // namespace

ProcessConnection::ProcessConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::PipeStream> stream,
                                     std::unique_ptr<Process> process)
    : CgiConnection(std::move(server), std::move(stream)),
      pipes_(static_cast<net::PipeStream*>(stream_.get())),
      process_(std::move(process)) {
  process_->listen(this);
}

// Before the pipes close, so that a body cut short is not taken for a whole one.
ProcessConnection::~ProcessConnection() {
  Process::let_go(std::move(process_), whole() ? Process::Rest::may_go_on : Process::Rest::is_killed);
}

net::Task<CgiConnection::StreamEnd> ProcessConnection::judge_end(net::Deadline gather_until, http::Patience patience) {
  const bool hurried = patience == http::Patience::none;
  const auto waited = co_await process_->end(hurried ? gather_until : reactor().after(kEndMs));
  if (process_->ended()) co_return process_->ended_by_signal() ? StreamEnd::cut : StreamEnd::whole;
  if (waited == net::WaitResult::cancelled) co_return StreamEnd::cut;
  co_return hurried ? StreamEnd::unknown : StreamEnd::whole;
}

void ProcessConnection::on_overdue() noexcept {
  pipes_->fail_input(ETIMEDOUT);
}

void ProcessConnection::note_no_answer(std::size_t) const noexcept {
  observe::log::warn_limited("cgi-no-answer " + server().backend(), "{}: {} ended its output without a response",
                             server().backend(), process_->script());
}

}  // namespace pontage::upstream
