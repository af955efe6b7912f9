/**
 * The code samples of the documentation, run against a running daemon with its key, search id and secret. Languages
 * that this machine lacks are reported and skipped.
 */

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { signatureHeaders } from '../../src/engine/delivery/signature.ts';
import { requestsOf, VERIFIERS } from '../../src/rest/description/code-samples.ts';
import { ROOT } from '../support/checkout.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectCrawler } from '../support/intake.ts';
import { restClient } from '../support/rest-client.ts';
import { emptyDirectory, startTestServers } from '../support/servers.ts';
import { type ReceivedPost, startWebhookReceiver } from '../support/webhook-receiver.ts';

interface Runtime {
  readonly command: string;
  readonly args: (file: string) => string[];
}

const RUNTIMES: Readonly<Record<string, Runtime>> = {
  'Node.js': { command: process.execPath, args: (file) => [file] },
  Python: { command: 'python3', args: (file) => [file] },
  Go: { command: 'go', args: (file) => ['run', file] },
  Java: { command: 'java', args: (file) => [file] },
  PHP: { command: 'php', args: (file) => [file] },
};

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`]);
    return true;
  } catch {
    return false;
  }
}

const servers = await startTestServers({ after });
const receiver = await startWebhookReceiver({ after });
const daemon = await startDaemon({ after }, servers);
const key = await createApiKey(servers);
const rest = restClient(daemon, key);
const { body: own } = await rest.request<{ secret: string }>('POST', '/webhook-secrets', {});
const endpointRecipient = receiver.urlOf('/matches');
const search = await rest.createSearch({ title: 'Été à Toulon', notificationEnabled: true, endpointRecipient });

const PROPERTY = { uuid: '0b8f5c1e-6f0a-4b57-9f5e-0d6c2c1f7a01', transactionType: 0, city: { insee: '83137' } };
const ADVERT = {
  uuid: '0b8f5c1e-6f0a-4b57-9f5e-0d6c2c1f7a02',
  title: 'Fenêtres à rénover, 1 000 €/m²',
  price: 250_000,
};
const message = { kind: 'upsert', crawledAt: new Date().toISOString(), property: PROPERTY, advert: ADVERT };
await (await connectCrawler({ after }, servers.nats.url)).publish(message);
await receiver.until((posts) => posts.length === 1);

/** Sends the webhook of a match again, because on a slow machine the first post may be minutes old. */
async function freshWebhook(): Promise<ReceivedPost> {
  const before = receiver.posts.length;
  const { status } = await rest.request('POST', `/deliveries/${receiver.posts[0]?.id}/resend`);
  assert.equal(status, 202);
  await receiver.until((posts) => posts.length > before);
  return receiver.posts.at(-1) as ReceivedPost;
}

type Headers = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>;

/** Resolves with true if the code accepts the webhook as genuine. */
function judge(command: string, args: readonly string[], directory: string, headers: Headers, body: Buffer) {
  const env = {
    ...process.env,
    ...Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase().replace('-', '_'), value]),
    ),
    GO111MODULE: 'off',
  };
  return new Promise<boolean>((resolve, reject) => {
    const child = execFile(command, args, { env, cwd: directory }, (error, _, complaints) => {
      if (error === null) resolve(true);
      // Code that does not compile would also refuse everything, so its error output is checked.
      else if (error.code === 1 && !/error|exception|traceback/i.test(complaints)) resolve(false);
      else reject(new Error(complaints, { cause: error }));
    });
    child.stdin?.on('error', () => undefined).end(body);
  });
}

/** Inverts the lowest bit of one byte. */
function changed(body: Buffer, at: number): Buffer {
  const copy = Buffer.from(body);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

/** Changes the first letter: the signatures are wrong, but still valid base64. */
function withOtherSignatures(headers: Headers): Headers {
  const signatures = headers['webhook-signature'].replaceAll(
    /v1,(.)/g,
    (_, first) => `v1,${first === 'A' ? 'B' : 'A'}`,
  );
  return { ...headers, 'webhook-signature': signatures };
}

/** The commands that /docs shows now. */
const page = await (await fetch(`${daemon.apiUrl}/docs?language=en`)).text();
const commands = [...page.matchAll(/data-language="curl" open>.*?<code>([^]*?)<\/code>/g)].map(([, code = '']) =>
  code
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll(/wait=\d+/g, 'wait=0')
    .replaceAll('2026-03-10T00:00:00+01:00', () => new Date().toISOString()),
);

describe('the requests of the guides', () => {
  for (const language of Object.keys(VERIFIERS)) {
    const { command, args } = RUNTIMES[language] as Runtime;
    const skip = isInstalled(command) ? false : `${command} is not installed`;
    it(`succeed in ${language}`, { skip }, async (t) => {
      const directory = await emptyDirectory(t, 'request');
      const path = join(directory, (VERIFIERS[language] as string).replace('verify', 'request'));
      assert.equal(commands.length, 4);
      for (const curl of commands) {
        const [, code = ''] = requestsOf(curl).find(([name]) => name === language) ?? [];
        await writeFile(path, code.replaceAll('$KEY', key).replaceAll('$SEARCH', search.id));
        const env = { ...process.env, GO111MODULE: 'off' };
        const printed = execFileSync(command, args(path), { cwd: directory, encoding: 'utf8', env });
        assert.match(printed, /^(20[012] )?\{/, curl);
        assert.doesNotMatch(printed, /"violations"/);
      }
    });
  }
});

describe('the code that verifies a webhook', () => {
  for (const [language, file] of Object.entries(VERIFIERS)) {
    const { command, args } = RUNTIMES[language] as Runtime;
    const skip = isInstalled(command) ? false : `${command} is not installed`;
    it(`accepts only the webhook as it was sent, in ${language}`, { skip }, async (t) => {
      const directory = await emptyDirectory(t, 'snippet');
      const path = join(directory, file);
      const isGenuine = async (headers: Headers, body: Buffer, secret = search.token): Promise<boolean> => {
        const code = await (await fetch(`${daemon.apiUrl}/docs/${file}`)).text();
        await writeFile(
          path,
          code.replace('SECRET', () => secret),
        );
        return judge(command, args(path), directory, headers, body);
      };
      const webhook = await freshWebhook();
      const headers = webhook.headers as Headers;
      const { id, body } = webhook;
      assert.equal(await isGenuine(headers, body), true, 'as it was sent');
      assert.equal(await isGenuine(headers, body, own.secret), true, "by the client's own secret");
      assert.equal(await isGenuine(headers, changed(body, body.length >> 1)), false, 'one byte of the body changed');
      assert.equal(await isGenuine(withOtherSignatures(headers), body), false, 'one letter of its signatures changed');
      const [old, early] = [-3_600_000, 3_600_000].map((ms) => new Date(Date.now() + ms)) as [Date, Date];
      assert.equal(await isGenuine(signatureHeaders(id, old, body, search.token), body), false, 'an hour old');
      assert.equal(await isGenuine(signatureHeaders(id, early, body, search.token), body), false, 'an hour ahead');
      assert.equal(await isGenuine({ ...headers, 'webhook-timestamp': 'now' }, body), false, 'without a valid time');
    });
  }
});

it('the relay of docs/chat-alerts.md posts a genuine webhook to Apprise, and refuses a changed webhook', async (t) => {
  const page = await readFile(join(ROOT, 'config/docs/chat-alerts.md'), 'utf8');
  const directory = await emptyDirectory(t, 'relay');
  const path = join(directory, 'relay.mjs');
  // Port 0 lets the system choose a free port, which the added line prints.
  const [, code = ''] = /```js\n([^]*?)```/.exec(page) ?? [];
  const printing = code.replace(
    /\.listen\((.*)\);\n$/,
    '.listen($1, function () { console.log(this.address().port); });\n',
  );
  await writeFile(path, printing);
  const env = {
    ...process.env,
    PORT: '0',
    VIGIE_SECRET: search.token,
    APPRISE_API: receiver.url,
    APPRISE_URLS: 'json://x',
  };
  const relay = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => relay.kill());
  const [port] = (await once(relay.stdout, 'data')) as [Buffer];
  const { headers, body } = await freshWebhook();
  const post = (content: Buffer) =>
    fetch(`http://127.0.0.1:${String(port).trim()}/`, {
      method: 'POST',
      headers: headers as Headers,
      body: new Uint8Array(content),
    });

  assert.equal((await post(changed(body, body.length >> 1))).status, 401);
  assert.equal((await post(body)).status, 200);
  const sent = receiver.posts.filter((each) => each.path === '/notify/').map((each) => JSON.parse(String(each.body)));
  assert.deepEqual(sent, [{ urls: 'json://x', title: ADVERT.title, body: '250000 €, Toulon' }]);
});
