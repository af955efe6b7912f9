/** A real SMTP server that keeps all messages, and gives the answers of the test's script. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Cleanup } from './servers.ts';

export interface ReceivedMail {
  readonly to: string;
  readonly from: string;
  readonly raw: string;
  readonly parsed: ParsedMail;
}

/** `accept` answers 250; `hang` never answers. */
export type SmtpAnswer = { readonly code: number; readonly text?: string } | 'accept' | 'hang';

export interface SmtpReceiver {
  readonly url: string;
  readonly port: number;
  /** E-mails accepted with 250. */
  readonly mails: readonly ReceivedMail[];
  /** Every complete message, including refused messages. */
  readonly messages: readonly string[];
  /** The address of every RCPT TO, including refused recipients. */
  readonly recipients: readonly string[];
  /** Successive answers to RCPT TO of the address; the last answer is repeated. */
  scriptRecipient(address: string, ...answers: SmtpAnswer[]): void;
  /** Successive answers to the message itself, for any recipient. */
  scriptMessage(...answers: SmtpAnswer[]): void;
  close(): Promise<void>;
}

export async function startSmtpReceiver(
  cleanup: Cleanup,
  options: SMTPServerOptions & { readonly port?: number } = {},
): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = [];
  const messages: string[] = [];
  const recipients: string[] = [];
  const ofRecipient = new Map<string, SmtpAnswer[]>();
  let ofMessage: SmtpAnswer[] = [];
  const next = (answers: SmtpAnswer[] | undefined): SmtpAnswer =>
    (answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0]) ?? 'accept';
  const give = (answer: SmtpAnswer, reply: (error?: Error | null) => void): void => {
    if (answer === 'hang') return;
    if (answer === 'accept') reply();
    else reply(Object.assign(new Error(answer.text ?? 'scripted'), { responseCode: answer.code }));
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.onAuth === undefined ? ['AUTH', 'STARTTLS'] : [],
    disableReverseLookup: true,
    logger: false,
    // Ends the connections of e-mails that `hang` leaves without an answer, for which it would wait 30 s.
    closeTimeout: 100,
    onRcptTo({ address }, _session, reply) {
      recipients.push(address);
      give(next(ofRecipient.get(address)), reply);
    },
    onData(stream, { envelope }, reply) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks);
        messages.push(raw.toString('latin1'));
        const parsed = await simpleParser(raw);
        const answer = next(ofMessage);
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address).join();
        if (answer === 'accept') mails.push({ to, from, raw: raw.toString('latin1'), parsed });
        give(answer, reply);
      });
    },
    ...options,
  });
  // Clients that disconnect cause an error event.
  server.on('error', () => undefined);
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
    });
    return closing;
  };
  cleanup.after(close);
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    messages,
    recipients,
    scriptRecipient: (address, ...answers) => void ofRecipient.set(address, answers),
    scriptMessage: (...answers) => {
      ofMessage = answers;
    },
    close,
  };
}
