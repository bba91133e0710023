<?php
// Says "first", waits until the file `release` is there, says "last". With `quiet` it says nothing before; with `ticks`
// it says something all the while. In the end it writes into the file `told` whether the client had gone by then.
if (isset($_GET['told'])) {
    register_shutdown_function(fn() => file_put_contents($_GET['told'], connection_aborted() ? 'aborted' : 'complete'));
}
if (isset($_GET['started'])) touch($_GET['started']);
while (ob_get_level()) ob_end_flush();
if (!isset($_GET['quiet'])) {
    echo "first\n";
    flush();
}
for ($i = 0; $i < 6000 && !file_exists($_GET['release']); $i++) {
    usleep(5000);
    clearstatcache();
    if (isset($_GET['ticks'])) {
        echo "tick\n";
        flush();
    }
}
echo "last\n";
