/** The demonstration's mail server: takes whatever it is sent (RFC 5321, as much as that needs) and says what it was. */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface DemoMail {
  readonly subject: string;
  /** Of its plain text, without empty ones. */
  readonly lines: readonly string[];
}

export interface DemoMailServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startDemoMailServer(onMail: (mail: DemoMail) => void): Promise<DemoMailServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Whoever hangs up has said all there is.
    socket.on('error', () => socket.destroy());
    converse(socket, onMail);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function converse(socket: Socket, onMail: (mail: DemoMail) => void): void {
  let message: string[] | null = null;
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say('220 demonstration');
  createInterface({ input: socket }).on('line', (line) => {
    if (message === null) {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'DATA') message = [];
      if (verb === 'QUIT') socket.end('221 bye\r\n');
      else say(verb === 'DATA' ? '354 go on' : '250 ok');
    } else if (line === '.') {
      onMail(read(message));
      message = null;
      say('250 taken');
    } else message.push(line.replace(/^\./, ''));
  });
}

/** Of what `features/mail/mail-message.ts` writes, and no more of MIME (RFC 2045 to 2047) than that. */
function read(lines: readonly string[]): DemoMail {
  const [head = '', ...parts] = lines.join('\n').split('\n\n');
  const subject = /^Subject: ((?:.*\n )*.*)/m.exec(head)?.[1] ?? '';
  const isBase64 = /base64/i.test(parts[0] ?? '');
  const body = parts.slice(1).join('\n\n').split('\n--')[0] ?? '';
  const text = isBase64 ? Buffer.from(body, 'base64').toString() : decodeQuoted(body.replace(/=\n/g, ''));
  return { subject: decodeWords(subject), lines: text.split('\n').filter((line) => line.trim() !== '') };
}

function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_, word: string) => decodeQuoted(word.replaceAll('_', ' '), 'latin1'))
    .replace(/\n /g, ' ')
    .replace(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, 'latin1').toString());
}

/** `latin1` leaves bytes as they are: a character may lie in two words. */
function decodeQuoted(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return encoding === 'latin1' ? bytes : Buffer.from(bytes, 'latin1').toString();
}
