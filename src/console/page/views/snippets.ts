/**
 * How an endpoint checks a webhook's signature (Standard Webhooks 1.0), in five languages, with the secret in its place.
 * Each reads the raw body from standard input and the three headers from the environment, and ends with 0 when one of the
 * signatures is right and no older than five minutes: so it can be tried as it stands, and so the tests run them.
 */

export const SNIPPET_LANGUAGES = ['Node.js', 'Python', 'Go', 'Java', 'PHP'] as const;
export type SnippetLanguage = (typeof SNIPPET_LANGUAGES)[number];

/** `secret` is `whsec_` and base64: no character of it means anything in these languages. */
export function snippetOf(language: SnippetLanguage, secret: string): string {
  return SNIPPETS[language].replace('SECRET', () => secret);
}

const SNIPPETS: Readonly<Record<SnippetLanguage, string>> = {
  'Node.js': `import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { env, exit } from 'node:process';

const key = Buffer.from('SECRET'.slice('whsec_'.length), 'base64');

function isGenuine(id, timestamp, body, signatures) {
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const right = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest();
  return signatures.split(' ').some((signature) => {
    const sent = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return sent.length === right.length && timingSafeEqual(sent, right);
  });
}

const { WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE } = env;
exit(isGenuine(WEBHOOK_ID, WEBHOOK_TIMESTAMP, readFileSync(0), WEBHOOK_SIGNATURE) ? 0 : 1);
`,
  Python: `import base64, hashlib, hmac, os, sys, time

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
`,
  Go: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const secret = "SECRET"

func isGenuine(id, timestamp string, body []byte, signatures string) bool {
	sentAt, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-sentAt)) > 300 {
		return false
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	right := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, sent := range strings.Fields(signatures) {
		if hmac.Equal([]byte(sent), []byte(right)) {
			return true
		}
	}
	return false
}

func main() {
	body, _ := io.ReadAll(os.Stdin)
	if !isGenuine(os.Getenv("WEBHOOK_ID"), os.Getenv("WEBHOOK_TIMESTAMP"), body, os.Getenv("WEBHOOK_SIGNATURE")) {
		os.Exit(1)
	}
}
`,
  Java: `import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Webhook {
  static final byte[] KEY = Base64.getDecoder().decode("SECRET".substring("whsec_".length()));

  static boolean isGenuine(String id, String timestamp, byte[] body, String signatures) throws Exception {
    if (!timestamp.matches("[0-9]{1,18}")) return false;
    if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) > 300) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
    byte[] right = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    for (String sent : signatures.split(" ")) {
      if (MessageDigest.isEqual(sent.getBytes(StandardCharsets.UTF_8), right)) return true;
    }
    return false;
  }

  public static void main(String[] args) throws Exception {
    var sent = System.getenv();
    byte[] body = System.in.readAllBytes();
    boolean ok = isGenuine(sent.get("WEBHOOK_ID"), sent.get("WEBHOOK_TIMESTAMP"), body, sent.get("WEBHOOK_SIGNATURE"));
    System.exit(ok ? 0 : 1);
  }
}
`,
  PHP: `<?php
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
`,
};
