<?php
// Writes `lines` lines to the error stream, before and after its answer.
$more = str_repeat('x', (int) ($_GET['width'] ?? 0));
for ($i = 0; $i < ($_GET['lines'] ?? 1); $i++) error_log("$_GET[text] before $more");
echo "fine\n";
error_log("$_GET[text] after");
