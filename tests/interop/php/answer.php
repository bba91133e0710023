<?php
// Answers with the status, the fields and the body of the query.
if (isset($_GET['location'])) header('Location: ' . $_GET['location']);
if (isset($_GET['status'])) http_response_code((int) $_GET['status']);
if (isset($_GET['length'])) header('Content-Length: ' . $_GET['length']);
for ($i = 0; $i < ($_GET['cookies'] ?? 0); $i++) {
    header("Set-Cookie: c$i=" . str_repeat('v', (int) $_GET['size'] - strlen("Set-Cookie: c$i=")), false);
}
echo $_GET['body'] ?? '';
