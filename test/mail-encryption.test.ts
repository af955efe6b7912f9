/**
 * Checks which data a mail server receives, and which of them are encrypted, even if the server cannot encrypt or is an
 * impostor (RFC 3207).
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type GenerateResult, generate } from 'selfsigned';
import type { SMTPServerOptions } from 'smtp-server';
import { createMailSender, MAIL_ATTEMPT_TIMEOUT_MS } from '../src/features/mail/mail-sender.ts';
import { listenOnLoopback } from './support/loopback.ts';
import { emptyDirectory } from './support/servers.ts';
import { type SmtpReceiver, startSmtpReceiver } from './support/smtp-receiver.ts';

const PASSWORD = 'p@ss/wörd';
const LETTER = {
  from: 'a@vigie.example',
  to: 'jo@example.org',
  bytes: Buffer.from('Subject: told\r\n\r\nSecret.\r\n'),
};
const TIMEOUT_MS = 60_000;

let right: GenerateResult;
let ofAnother: GenerateResult;
let unknown: GenerateResult;
before(async () => {
  right = await certificateOf('127.0.0.1');
  ofAnother = await certificateOf('192.0.2.1');
  unknown = await certificateOf('127.0.0.1');
});

const directory = await emptyDirectory({ after }, 'mail-encryption');

function fileOf(pem: string): string {
  const path = join(directory, 'authorities.pem');
  writeFileSync(path, pem);
  return path;
}

function certificateOf(ip: string): Promise<GenerateResult> {
  return generate([{ name: 'commonName', value: ip }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip }] }],
  });
}

interface Heard {
  readonly logins: string[];
  /** For each message, true if it arrived encrypted. */
  readonly letters: boolean[];
}

/** A mail server that encrypts on request, and records logins. */
async function encryptingServer(
  t: TestContext,
  { cert, private: key }: GenerateResult,
  options: SMTPServerOptions = {},
): Promise<SmtpReceiver & Heard> {
  const heard: Heard = { logins: [], letters: [] };
  const receiver = await startSmtpReceiver(t, {
    ...{ cert, key, authOptional: true },
    onAuth({ username = '', password = '' }, _session, reply) {
      heard.logins.push(`${username}:${password}`);
      reply(null, { user: username });
    },
    onMailFrom(_address, session, reply) {
      heard.letters.push(session.secure);
      reply();
    },
    ...options,
  });
  return { ...receiver, ...heard };
}

/** Trusts the certificates of `right` and `ofAnother`; the loopback address is verified like any other host. */
function send(port: number, { scheme = 'smtp', login = true, authorities = `${right.cert}\n${ofAnother.cert}` } = {}) {
  const user = login ? `me:${encodeURIComponent(PASSWORD)}@` : '';
  const url = `${scheme}://${user}127.0.0.1:${port}`;
  return createMailSender({ url, timeoutMs: TIMEOUT_MS, authoritiesFile: fileOf(authorities) }).send(
    LETTER,
    new Date(),
  );
}

test('a server that offers STARTTLS gets everything encrypted, and one without it gets a message without a password', async (t) => {
  const server = await encryptingServer(t, right);
  const outcome = await send(server.port);
  assert.deepEqual([outcome.error, outcome.statusCode], [null, 250]);
  assert.equal((await send(server.port, { login: false })).error, null);
  assert.deepEqual([server.logins, server.letters], [[`me:${PASSWORD}`], [true, true]]);
  const clear = await encryptingServer(t, right, { disabledCommands: ['AUTH', 'STARTTLS'] });
  assert.equal((await send(clear.port, { login: false })).error, null);
  assert.deepEqual(clear.letters, [false]);
  const stranger = await encryptingServer(t, unknown);
  const url = `smtp://127.0.0.1:${stranger.port}`;
  const any = createMailSender({ url, authoritiesFile: fileOf(right.cert), isTlsInsecure: true });
  assert.equal((await any.send(LETTER, new Date())).error, null, 'any certificate is accepted on request');
  assert.deepEqual(stranger.letters, [true]);
});

test('a password is sent unencrypted only on the loopback', async (t) => {
  const server = await encryptingServer(t, right, { disabledCommands: ['STARTTLS'] });
  const refused = await send(server.port);
  assert.deepEqual([refused.statusCode, refused.isFinal, refused.isRecipientRefused], [500, false, false]);
  assert.deepEqual([server.logins, server.letters], [[], []]);
  const url = `smtp://me:${encodeURIComponent(PASSWORD)}@127.0.0.1:${server.port}`;
  const within = await createMailSender({ url, timeoutMs: TIMEOUT_MS }).send(LETTER, new Date());
  assert.deepEqual([within.error, server.logins], [null, [`me:${PASSWORD}`]]);
});

test('a refused login is tried again, and its reason names no password', async (t) => {
  const server = await encryptingServer(t, right, {
    onAuth: ({ password }, _session, reply) =>
      reply(Object.assign(new Error(`not ${password}`), { responseCode: 535 }), undefined),
  });
  const { statusCode, isFinal, reason } = await send(server.port);
  assert.deepEqual([statusCode, isFinal, server.letters], [535, false, []]);
  assert.doesNotMatch(String(reason), /p@ss/);
});

for (const [whose, certificate] of [
  ['of an unknown authority', () => unknown],
  ['of another host', () => ofAnother],
] as const) {
  test(`a server with a certificate ${whose} receives neither password nor message`, async (t) => {
    for (const scheme of ['smtp', 'smtps']) {
      for (const login of [true, false]) {
        const server = await encryptingServer(t, certificate(), { secure: scheme === 'smtps' });
        const outcome = await send(server.port, { scheme, login });
        assert.deepEqual([outcome.error, outcome.isFinal], ['tls', false], `${scheme} ${login}`);
        assert.deepEqual([server.logins, server.letters, server.mails], [[], [], []]);
      }
    }
  });
}

/** An impostor in the network that answers instead of the server, and collects the lines that it receives. */
async function stranger(t: TestContext, answer: (line: string) => string | null) {
  const lines: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.setEncoding('latin1');
    socket.write('220 mail.example ESMTP\r\n');
    socket.on('data', (text: string) => {
      // A TLS handshake, for which it has no certificate.
      if (text.startsWith('\x16')) socket.end();
      for (const line of text.split('\r\n').slice(0, -1)) {
        lines.push(line);
        const said = answer(line);
        if (said !== null) socket.write(said);
      }
    });
  });
  return { port: await listenOnLoopback(t, server), lines };
}

const isGreeting = (line: string) => /^EHLO|^HELO/.test(line);
const EVERYTHING = '250-mail.example\r\n250-AUTH PLAIN LOGIN\r\n250 SIZE\r\n';

test('an attacker who removes STARTTLS from the server’s replies receives no password', async (t) => {
  const strips = {
    'it is not offered': (line: string) => (isGreeting(line) ? EVERYTHING : '502 5.5.1 unknown\r\n'),
    'it is refused for now': (line: string) => (isGreeting(line) ? EVERYTHING : '454 4.7.0 not now\r\n'),
    'only HELO is known': (line: string) =>
      line.startsWith('HELO') ? '250 mail.example\r\n' : '502 5.5.1 unknown\r\n',
    // The replies after 220 are injected in plain text before the TLS handshake. A vulnerable client would read them as
    // replies of the encrypted session.
    'replies are injected': (line: string) =>
      isGreeting(line)
        ? EVERYTHING.replace('SIZE', 'STARTTLS')
        : '220 go ahead\r\n250-mail.example\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n',
  };
  for (const [name, answer] of Object.entries(strips)) {
    const server = await stranger(t, answer);
    const outcome = await send(server.port);
    assert.notEqual(outcome.error, null, name);
    assert.equal(outcome.isFinal, false, name);
    const heard = server.lines.join('\n');
    assert.ok(!/AUTH|MAIL FROM|RCPT|jo@example|Secret/i.test(heard), `${name}: ${heard}`);
    assert.ok(!heard.includes(Buffer.from(PASSWORD).toString('base64')), name);
    assert.ok(!heard.includes(Buffer.from(`\0me\0${PASSWORD}`).toString('base64')), name);
  }
});

test('an attempt allows a server the ten minutes after the final dot that SMTP requires', () => {
  assert.ok(MAIL_ATTEMPT_TIMEOUT_MS > 10 * 60_000);
});
