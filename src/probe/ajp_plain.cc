#include "src/probe/ajp_plain.h"

#include <array>

#include "protocols/ajp13/request_encoder.h"
#include "protocols/ajp13/response_decoder.h"

namespace pontage::probe {

using config::ms;
using util::ErrorKind;
using util::Source;

net::Task<util::Result<int>> ask_plainly(net::Reactor& reactor, net::Address address,
                                         std::shared_ptr<const upstream::ServerSettings> settings,
                                         const Question& question) {
  message::Arena arena;
  message::RequestHead head;
  head.method = message::Method::head;
  message::HeaderList headers(arena);
  headers.add(message::HeaderId::host, question.host);
  const std::span<char> packet = arena.chars(settings->packet_size);
  wire::Sink sink(packet);
  const ajp13::ForwardRequest request{.head = head,
                                      .path = question.forward_path,
                                      .query = {},
                                      .headers = headers,
                                      .remote_addr = "127.0.0.1",
                                      .local_addr = "127.0.0.1",
                                      .server_name = "localhost",
                                      .server_port = 80,
                                      .secret = settings->secret};
  const auto encoded = ajp13::encode_forward_request(sink, request, settings->packet_size);
  if (!encoded) co_return util::fail(ErrorKind::limit, Source::gateway, "request");
  const net::Deadline until = reactor.after(ms(settings->timeouts.first_byte));
  auto opened = co_await net::connect(reactor, address, until);
  if (!opened) co_return util::Failure(opened.error());
  net::ByteStream& stream = **opened;
  iovec piece{packet.data(), sink.size()};
  const std::span pieces(&piece, 1);
  const auto sent = co_await net::write_all(stream, pieces, net::More::no, ms(settings->timeouts.idle),
                                            observe::Phase::server, Source::server);
  if (!sent) co_return util::Failure(sent.error());
  ajp13::ResponseDecoder decoder(settings->packet_size, settings->response_limits);
  message::ResponseHead answer;
  std::array<char, 4096> bytes;
  for (;;) {
    const auto got = co_await net::read_some(stream, bytes, until, observe::Phase::server, Source::server);
    if (!got) co_return util::Failure(got.error());
    if (*got == 0) co_return util::fail(ErrorKind::closed, Source::server, "no response");
    std::string_view rest(bytes.data(), *got);
    while (!rest.empty()) {
      const auto step = decoder.decode(rest, arena, head.method, answer);
      if (!step) co_return util::fail_decode(step.error(), Source::server);
      if (step->event == ajp13::ResponseEvent::head) co_return answer.status;
      rest.remove_prefix(step->consumed);
    }
  }
}

}  // namespace pontage::probe
