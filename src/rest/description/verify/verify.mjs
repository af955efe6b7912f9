import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { env, exit } from 'node:process';

const key = Buffer.from('SECRET'.slice('whsec_'.length), 'base64');

function isGenuine(id, timestamp, body, signatures) {
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((signature) => {
    const sent = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return sent.length === right.length && timingSafeEqual(sent, right);
  });
}

const { WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE } = env;
exit(isGenuine(WEBHOOK_ID, WEBHOOK_TIMESTAMP, readFileSync(0), WEBHOOK_SIGNATURE) ? 0 : 1);
