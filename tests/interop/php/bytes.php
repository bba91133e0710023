<?php
// The first `size` bytes of big.bin; with `length` it says how many there will be.
$size = (int) ($_GET['size'] ?? filesize(__DIR__ . '/big.bin'));
header('Content-Type: application/octet-stream');
if (isset($_GET['length'])) header("Content-Length: $size");
while (ob_get_level()) ob_end_flush();
if ($size) stream_copy_to_stream(fopen(__DIR__ . '/big.bin', 'rb'), fopen('php://output', 'wb'), $size);
