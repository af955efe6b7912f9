/**
 * Sends each e-mail to the mail server over its own connection, and waits as long as SMTP requires (RFC 5321, 4.5.3.2).
 * After the final dot, a server that is still checking a message may accept it, and a sender that gave up would send it
 * twice. The server's answers are classified here: 4yz and failures on our side are retried; 5yz to the recipient or
 * the message is final. A refused login or sender is retried too, because an operator can correct it.
 */

import { readFileSync } from 'node:fs';
import SMTPConnection, { type SMTPConnectionAuth, type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';
import type { AttemptError, AttemptOutcome } from '../../engine/domain/delivery.ts';
import { storable } from '../../engine/domain/text.ts';

export interface MailSenderOptions {
  /** `smtp:` or `smtps:`; with a user and a password, percent-encoded, or neither. */
  readonly url: string;
  /** Milliseconds for a whole attempt; `MAIL_ATTEMPT_TIMEOUT_MS` when absent. */
  readonly timeoutMs?: number;
  /** PEM file of the only accepted authorities. If set, STARTTLS is used even on the loopback. */
  readonly authoritiesFile?: string | null;
  /** True to accept any certificate. */
  readonly isTlsInsecure?: boolean;
}

const MINUTE_MS = 60_000;
/** For connecting and encrypting, for which SMTP sets no limit. */
const CONNECTION_TIMEOUT_MS = MINUTE_MS;
const GREETING_TIMEOUT_MS = 5 * MINUTE_MS;
/** For a silent server: the longest limit of SMTP, which applies after the final dot. */
const SILENCE_TIMEOUT_MS = 10 * MINUTE_MS;
/** Enough for a server that is late with every answer to the message. Before the message, giving up has no cost. */
export const MAIL_ATTEMPT_TIMEOUT_MS = 20 * MINUTE_MS;

export interface Letter {
  readonly from: string;
  readonly to: string;
  readonly bytes: Buffer;
}

export interface MailOutcome extends AttemptOutcome {
  /** True for a permanent refusal: another attempt is useless. */
  readonly isFinal: boolean;
  /** True if the server refused because of the recipient. */
  readonly isRecipientRefused: boolean;
}

export interface MailSender {
  /** Never rejects for anything that the mail server does. */
  send(letter: Letter, startedAt: Date): Promise<MailOutcome>;
}

/** A server may take long to close the connection after its answer; nothing waits for it. */
const CLOSE_TIMEOUT_MS = 1_000;
const RESPONSE_HEAD_MAX = 2_048;

/** Throws if the file of authorities cannot be read. */
export function createMailSender(server: MailSenderOptions): MailSender {
  const { timeoutMs = MAIL_ATTEMPT_TIMEOUT_MS } = server;
  const { options, auth } = connectionOf(server, timeoutMs);
  return {
    async send(letter, startedAt) {
      const began = performance.now();
      const result = await sendWithin(timeoutMs, options, auth, letter).then(accepted, failed);
      const responseHead = withoutAddress(result.responseHead, letter.to);
      return { startedAt, durationMs: performance.now() - began, ...result, responseHead };
    },
  };
}

/** Connects, encrypts and logs in as for an e-mail, but sends none. Resolves with a failure in words, or null. */
export async function checkMailServer(server: MailSenderOptions): Promise<string | null> {
  const { timeoutMs = MAIL_ATTEMPT_TIMEOUT_MS } = server;
  const { options, auth } = connectionOf(server, timeoutMs);
  return sendWithin(timeoutMs, options, auth, null).then(
    () => null,
    (error: SmtpFailure) => failed(error).reason,
  );
}

/** Without `authoritiesFile`, STARTTLS is not used on the loopback, which cannot be intercepted. */
function connectionOf({ url, authoritiesFile, isTlsInsecure = false }: MailSenderOptions, timeoutMs: number) {
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const isUnverified = isLoopback && !authoritiesFile;
  const secure = protocol === 'smtps:';
  const auth: SMTPConnectionAuth | null =
    username === '' ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  const options: SMTPConnectionOptions = {
    host,
    secure,
    ...(port === '' ? {} : { port: Number(port) }),
    ignoreTLS: isUnverified,
    requireTLS: !secure && auth !== null && !isUnverified,
    connectionTimeout: Math.min(timeoutMs, CONNECTION_TIMEOUT_MS),
    greetingTimeout: Math.min(timeoutMs, GREETING_TIMEOUT_MS),
    socketTimeout: Math.min(timeoutMs, SILENCE_TIMEOUT_MS),
    socketCloseTimeout: CLOSE_TIMEOUT_MS,
    tls: { ...(authoritiesFile && { ca: readFileSync(authoritiesFile, 'utf8') }), rejectUnauthorized: !isTlsInsecure },
  };
  return { options, auth };
}

/** Resolves with the answer to the message, if there is one to send; rejects with nodemailer's error. */
function sendWithin(
  timeoutMs: number,
  options: SMTPConnectionOptions,
  auth: SMTPConnectionAuth | null,
  letter: Letter | null,
): Promise<string> {
  const connection = new SMTPConnection(options);
  return new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
      connection.close();
    }, timeoutMs);
    const end = (error: Error | null, answer = ''): void => {
      clearTimeout(timer);
      // If the server accepted the message, the attempt succeeded, even if the server then falls silent.
      if (error === null) {
        resolve(answer);
        connection.quit();
        setTimeout(() => connection.close(), CLOSE_TIMEOUT_MS).unref();
      } else {
        reject(error);
        connection.close();
      }
    };
    const send = (): void => {
      if (letter === null) return end(null);
      const { from, to, bytes } = letter;
      connection.send({ from, to: [to], size: bytes.length }, bytes, (error, info) =>
        end(error ?? null, info?.response),
      );
    };
    // Also emitted if the connection breaks while it is being closed after the answer.
    connection.on('error', end);
    connection.connect((error) => {
      if (error) end(error);
      else if (auth === null) send();
      else connection.login(auth, (refused) => (refused ? end(refused) : send()));
    });
  });
}

type Result = Omit<MailOutcome, 'startedAt' | 'durationMs'>;

function accepted(answer: string): Result {
  const [, code = '250'] = /^(\d{3})/.exec(answer) ?? [];
  return {
    statusCode: Number(code),
    error: null,
    reason: null,
    responseHead: headOf(answer),
    isFinal: false,
    isRecipientRefused: false,
  };
}

interface SmtpFailure {
  readonly code?: string;
  readonly originalCode?: string;
  readonly command?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

/** The reason is logged, so it does not quote the server's answer, which may contain the address. */
function failed(error: SmtpFailure): Result {
  const { code = '', originalCode = '', command = '', response = null, responseCode } = error;
  const isAnswer = responseCode !== undefined && responseCode >= 400;
  const isRefusal = isAnswer && responseCode >= 500;
  const isRecipientRefused = isRefusal && isAboutRecipient(command, responseCode, response ?? '');
  return {
    statusCode: isAnswer ? responseCode : null,
    error: isAnswer ? 'status' : errorOf(code, originalCode),
    reason: isAnswer
      ? `the mail server answered ${responseCode} to ${command === 'CONN' ? 'the connection' : command}`
      : `the mail server could not be used: ${originalCode || code || 'unknown error'}`,
    responseHead: response === null ? null : headOf(response),
    isFinal: isRefusal && (command === 'RCPT TO' || command === 'DATA'),
    isRecipientRefused,
  };
}

/** Some servers check the mailbox only once they have the message (RFC 3463: x.1 address, x.2 mailbox). */
function isAboutRecipient(command: string, responseCode: number, response: string): boolean {
  if (command === 'RCPT TO') return true;
  if (command !== 'DATA') return false;
  const [, subject] = /^\d{3}[ -]5\.(\d{1,3})\./.exec(response) ?? [];
  return subject === undefined ? [550, 551, 553].includes(responseCode) : subject === '1' || subject === '2';
}

const ERRORS: Readonly<Record<string, AttemptError>> = {
  EDNS: 'dns',
  ENOTFOUND: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNECTION: 'reset',
  ETLS: 'tls',
};

function errorOf(code: string, originalCode: string): AttemptError {
  if (/CERT|SSL|TLS|SIGNATURE/.test(originalCode)) return 'tls';
  return ERRORS[originalCode] ?? ERRORS[code] ?? 'protocol';
}

/** Removes the recipient's address from a server's answer, because the log of attempts must not contain it. */
function withoutAddress(text: string | null, address: string): string | null {
  return text?.replaceAll(new RegExp(address.replaceAll(/[^\w@]/g, '\\$&'), 'gi'), '…') ?? null;
}

function headOf(answer: string): string {
  return storable(answer).slice(0, RESPONSE_HEAD_MAX);
}
