#include "src/http/request_pump.h"

#include "src/http/exchange.h"

namespace pontage::http {

void RequestPump::start(net::Task<void> body) {
  active_ = true;
  failed_ = false;
  exchange_->ledger.pump_started();
  fiber_.charge_to(&exchange_->ledger, 1);
  net::launch(fiber_, std::move(body), &RequestPump::on_done, this);
}

void RequestPump::fail(const util::Error& error) noexcept {
  failed_ = true;
  error_ = error;
  if (error.source != util::Source::server) exchange_->fiber->interrupt();
}

void RequestPump::bury(End end, void* argument) noexcept {
  end_ = end;
  end_argument_ = argument;
  fiber_.cancel();
}

void RequestPump::on_done(void* self) noexcept {
  auto& pump = *static_cast<RequestPump*>(self);
  pump.active_ = false;
  pump.exchange_->ledger.pump_ended();
  if (pump.end_ != nullptr) {
    const End end = pump.end_;
    pump.end_ = nullptr;
    end(pump.end_argument_);
  }
  if (pump.joining_ != nullptr) pump.joining_->complete(net::WaitResult::ready);
}

void RequestPump::reset() noexcept {
  failed_ = false;
  error_ = {};
  fiber_.revive();
}

}  // namespace pontage::http
