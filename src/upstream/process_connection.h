// The cgi adapter's side of a process: a connection for one request, over its standard input and output (ADAPTERS C5).
// The variables went with the launch; what is left to send is the body. The end of the output ends the response, but
// only once it is known that the process was not killed in the middle of it. Worker's thread.
#pragma once

#include "src/net/pipe_stream.h"
#include "src/upstream/cgi_connection.h"
#include "src/upstream/process.h"

namespace pontage::upstream {

class ProcessConnection final : public CgiConnection, private Process::Listener {
 public:
  ProcessConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::PipeStream> stream,
                    std::unique_ptr<Process> process);
  // A process whose response is whole may go on, any other is killed.
  ~ProcessConnection() override;

 private:
  std::size_t request_room(const cgi::VariableList&) const override { return 0; }
  util::Result<void> encode_request(wire::Sink&, const cgi::VariableList&) override { return {}; }
  std::string_view body_header(std::size_t) override { return {}; }
  std::string_view body_end() const override { return {}; }
  void note_sent() noexcept override { pipes_->shutdown_write(); }
  util::Result<Unwrapped> unwrap(std::string_view input) override {
    return Unwrapped{.consumed = input.size(), .output = input};
  }
  bool ends_with_stream() const noexcept override { return true; }
  net::Task<StreamEnd> judge_end(net::Deadline gather_until, http::Patience patience) override;
  bool says_end() const noexcept override { return false; }
  bool keeps_open() const noexcept override { return false; }
  void note_no_answer(std::size_t) const noexcept override;

  void on_output_left_open() noexcept override { pipes_->end_input(); }
  void on_overdue() noexcept override;

  net::PipeStream* pipes_;  // the base's stream
  std::unique_ptr<Process> process_;
};

}  // namespace pontage::upstream
