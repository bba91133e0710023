<?php
// Ends without a word.
exit;
