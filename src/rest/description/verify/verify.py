import base64, hashlib, hmac, os, sys, time

key = base64.b64decode("SECRET"[len("whsec_"):])

def is_genuine(id, timestamp, body, signatures):
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    right = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(right).decode()
    return any(hmac.compare_digest(expected, sent) for sent in signatures.split(" "))

sent = os.environ
ok = is_genuine(sent["WEBHOOK_ID"], sent["WEBHOOK_TIMESTAMP"], sys.stdin.buffer.read(), sent["WEBHOOK_SIGNATURE"])
sys.exit(0 if ok else 1)
