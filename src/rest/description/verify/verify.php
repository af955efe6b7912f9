<?php
$key = base64_decode(substr('SECRET', strlen('whsec_')));

function is_genuine($id, $timestamp, $body, $signatures, $key) {
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) return false;
    $right = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $sent) {
        if (hash_equals($right, $sent)) return true;
    }
    return false;
}

$body = file_get_contents('php://stdin');
$ok = is_genuine(getenv('WEBHOOK_ID'), getenv('WEBHOOK_TIMESTAMP'), $body, getenv('WEBHOOK_SIGNATURE'), $key);
exit($ok ? 0 : 1);
