// The control socket: a unix socket (mode 0600) that `pontage reload`, `stop` and `status` speak to. One line asks, the
// answer is a line with the exit code and then text, until the end of the stream. Control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/admin/asio.h"

namespace pontage::admin {

struct ControlAnswer {
  int exit_code = 0;
  std::string text;
};

class ControlSocket {
 public:
  using Command = std::function<ControlAnswer(std::string_view verb)>;

  ControlSocket(asio::io_context& loop, Command command);
  ~ControlSocket();  // removes the socket file

  bool listen(const std::string& path, std::string& error);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The client's side: sends `verb` and waits for the answer, at most `seconds`. exit_code 1 and a sentence when nobody
// answers.
ControlAnswer ask_control(const std::string& path, std::string_view verb, int seconds);

}  // namespace pontage::admin
