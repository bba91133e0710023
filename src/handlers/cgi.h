// The cgi handler: runs a program for each exchange (RFC 3875; ADAPTERS section 4). What is waited for, in this order:
// a request body that is buffered, a place among the route's processes, the launch on the blocking pool, the response.
// Nothing is tried again: a process that was started may have done its work. Shared by all workers, immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/handlers/cgi_launch.h"
#include "src/handlers/spooled_response.h"
#include "src/http/forwarding.h"
#include "src/http/handler.h"
#include "src/http/spool.h"
#include "src/upstream/place.h"
#include "src/upstream/server.h"

namespace pontage::handlers {

struct CgiOptions {
  config::Buffering buffering = config::Buffering::on;  // of request bodies
  AnswerBuffering answers{};
  http::SpoolPolicy spool;
  std::vector<config::HeaderEdit> request_headers;
};

class CgiHandler final : public http::Handler {
 public:
  // What launches use; outlives the handler's exchanges.
  struct Tools {
    net::BlockingPool& blocking;  // for bodies and a first look
    net::BlockingPool& launches;  // a launch may take long, and nothing else shall wait behind it
    upstream::Launcher& launcher;
  };
  // `server` counts the processes, its pool is their places.
  CgiHandler(std::shared_ptr<const CgiPolicy> policy, std::shared_ptr<upstream::BackendServer> server,
             std::shared_ptr<const http::ForwardingPolicy> forwarding, const Tools& tools, CgiOptions options);

  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  // Where the script is looked for: the decoded path below the root, and what of the path stands for the root.
  struct Way {
    std::string_view path;
    std::string_view mount;
  };
  util::Result<Way> way_of(http::Exchange& exchange) const;
  // The variables that do not depend on which file the script is; a limit (431) is looked after.
  util::Result<void> make_variables(http::Exchange& exchange) const;
  // Buffers the body once it is known that there is a script for it; a value is the answer instead.
  net::Task<util::Result<std::optional<http::Response>>> take_body(http::Exchange& exchange, const Way& way);
  net::Task<util::Result<Launch>> launch(http::Exchange& exchange, const Way& way, upstream::Place place);
  net::Task<util::Result<http::Response>> run(http::Exchange& exchange, Started started);
  http::Response refuse(http::Exchange& exchange, ScriptRefusal why) const;

  std::shared_ptr<const CgiPolicy> policy_;
  std::shared_ptr<upstream::BackendServer> server_;
  std::shared_ptr<const http::ForwardingPolicy> forwarding_;
  Tools tools_;
  CgiOptions options_;
};

}  // namespace pontage::handlers
