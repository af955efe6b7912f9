import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { connect } from 'nats';

const { host, username: user, password: pass } = new URL(process.env.NATS_URL ?? '');
const nats = await connect({ servers: host, user, pass, inboxPrefix: `_INBOX_${user}` });
const sent = new Set();
let lastAt = Date.now();
nats.subscribe('adverts-rejected.>', {
  callback(_, message) {
    const { messageId, reason } = message.json();
    if (!sent.has(messageId)) return; // sent by another crawler
    console.error(`${messageId} refused: ${reason}`);
    process.exitCode = 1;
    lastAt = Date.now();
  },
});
for await (const line of createInterface(process.stdin)) {
  const msgID = createHash('sha256').update(line).digest('hex'); // equal messages have equal ids
  sent.add(msgID);
  const { duplicate } = await nats.jetstream().publish(`adverts.${JSON.parse(line).property.uuid}`, line, { msgID });
  if (duplicate) console.error(`${msgID} is already in the stream`);
  lastAt = Date.now();
}
while (Date.now() - lastAt < 2_000) await setTimeout(100); // wait for late rejections
await nats.close();
