<?php
// Tells what arrived of the request's body, and repeats the token of the query.
$input = fopen('php://input', 'rb');
$hash = hash_init('sha256');
$bytes = hash_update_stream($hash, $input);
header('Content-Type: application/json');
echo json_encode(['length' => $_SERVER['CONTENT_LENGTH'] ?? null, 'bytes' => $bytes, 'sha256' => hash_final($hash),
                  'token' => $_GET['token'] ?? null]);
