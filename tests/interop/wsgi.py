"""The application that uWSGI runs: what it got, what it is told to answer. Nothing here is imported by the gateway."""
import hashlib
import json
import os
import time
from pathlib import Path
from urllib.parse import parse_qs

PIECE = bytes(i * 31 % 251 for i in range(65_536))


def pattern(size):
    """Pieces that make `size` bytes."""
    for _ in range(size // len(PIECE)):
        yield PIECE
    if size % len(PIECE):
        yield PIECE[:size % len(PIECE)]


def environ_of(environ, query):
    texts = {name: value for name, value in environ.items() if isinstance(value, str)}
    return "200 OK", [("Content-Type", "application/json")], [json.dumps(texts).encode()]


def body(environ, query):
    digest, count = hashlib.sha256(), 0
    left = int(environ.get("CONTENT_LENGTH") or 0)
    while left > 0 and (data := environ["wsgi.input"].read(min(left, 65_536))):
        digest.update(data)
        count += len(data)
        left -= len(data)
    told = {"method": environ["REQUEST_METHOD"], "length": environ.get("CONTENT_LENGTH"), "bytes": count,
            "sha256": digest.hexdigest(), "token": query.get("token")}
    return "200 OK", [("Content-Type", "application/json")], [json.dumps(told).encode()]


def answer(environ, query):
    text = query.get("body", "").encode()
    fields = [("Content-Type", "text/plain")]
    fields += [("Content-Length", query["length"])] if "length" in query else []
    fields += [("Location", query["location"])] if "location" in query else []
    fields += [("Set-Cookie", f"c{i}=v{i}") for i in range(int(query.get("cookies", 0)))]
    return query.get("status", "200 OK"), fields, [text] if text else []


def numbers(environ, query):
    size = int(query["size"])
    fields = [("Content-Type", "application/octet-stream")]
    fields += [("Content-Length", str(size))] if "length" in query else []
    return "200 OK", fields, pattern(size)


def stream(environ, query):
    """Says "first", waits for the file `release`, says "last"; all the while "tick" when it is told to."""
    release = Path(os.environ["PROBE_FOLDER"]) / query["release"]

    def pieces():
        yield b"first\n"
        end = time.monotonic() + 30
        while not release.exists() and time.monotonic() < end:
            time.sleep(0.005)
            if "ticks" in query:
                yield b"tick\n"
        yield b"last\n"
    fields = [("Content-Type", "text/plain")]
    fields += [("Content-Length", query["length"])] if "length" in query else []
    return "200 OK", fields, pieces()


PAGES = {"body": body, "answer": answer, "bytes": numbers, "stream": stream}


def application(environ, start_response):
    query = {name: values[-1] for name, values in parse_qs(environ["QUERY_STRING"], keep_blank_values=True).items()}
    page = PAGES.get(environ.get("PATH_INFO", "").strip("/").partition("/")[0], environ_of)
    status, fields, pieces = page(environ, query)
    start_response(status, fields)
    return pieces
