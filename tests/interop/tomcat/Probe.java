import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Collections;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What the tests ask a Tomcat: what it saw, its bytes back, its session, and how often it did something. */
public class Probe extends HttpServlet {
    private static final ConcurrentHashMap<String, AtomicInteger> COUNTS = new ConcurrentHashMap<>();

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String path = request.getPathInfo() == null ? "/" : request.getPathInfo();
        response.setContentType("text/plain");
        response.setCharacterEncoding("UTF-8");
        if (path.equals("/info")) {
            info(request, response.getWriter());
        } else if (path.equals("/echo")) {
            response.setContentType("application/octet-stream");
            if (request.getContentLengthLong() >= 0) response.setContentLengthLong(request.getContentLengthLong());
            request.getInputStream().transferTo(response.getOutputStream());
        } else if (path.equals("/unread")) {
            response.getWriter().print("unread");
        } else if (path.equals("/session")) {
            response.getWriter().print(request.getSession().getId() + " " + request.getSession().isNew());
        } else if (path.equals("/count")) {
            AtomicInteger count = COUNTS.computeIfAbsent(request.getParameter("key"), key -> new AtomicInteger());
            response.getWriter().print(request.getMethod().equals("POST") ? count.incrementAndGet() : count.get());
        } else if (path.startsWith("/bytes/")) {
            bytes(Integer.parseInt(path.substring(7)), request.getParameter("flush") != null, response);
        } else if (path.startsWith("/status/")) {
            response.setStatus(Integer.parseInt(path.substring(8)));
        } else if (path.equals("/redirect")) {
            response.sendRedirect("/probe/info?x=1");
        } else if (path.equals("/cookies")) {
            for (int i = 0; i < 5; ++i) response.addHeader("Set-Cookie", "c" + i + "=v" + i);
        } else {
            response.sendError(404);
        }
    }

    private static void info(HttpServletRequest request, PrintWriter out) {
        out.println("method: " + request.getMethod());
        out.println("uri: " + request.getRequestURI());
        out.println("query: " + request.getQueryString());
        out.println("protocol: " + request.getProtocol());
        out.println("remote: " + request.getRemoteAddr());
        out.println("remote-port-known: " + (request.getRemotePort() > 0));
        out.println("server: " + request.getServerName() + ":" + request.getServerPort());
        out.println("scheme: " + request.getScheme());
        for (String name : Collections.list(request.getHeaderNames())) {
            for (String value : Collections.list(request.getHeaders(name))) out.println("header " + name.toLowerCase() + ": " + value);
        }
    }

    private static void bytes(int count, boolean flush, HttpServletResponse response) throws IOException {
        if (!flush) response.setContentLength(count);
        byte[] piece = new byte[4096];
        for (int i = 0; i < piece.length; ++i) piece[i] = (byte) ('a' + i % 26);
        for (int left = count; left > 0; left -= piece.length) {
            response.getOutputStream().write(piece, 0, Math.min(left, piece.length));
            if (flush) response.flushBuffer();
        }
    }
}
