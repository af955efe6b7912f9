/**
 * Filters the bytes that an endpoint sends before the HTTP client reads them. Passes the head of an answer on when the
 * head is complete, and drops provisional answers (1xx except 101). The client treats `100 Continue` as an error,
 * although RFC 9110, section 15.2, requires clients to accept it. An endpoint that sends no final answer is
 * disconnected after 16 KiB, not only when the attempt times out.
 */

import type { Socket } from 'node:net';
import { AttemptFailure } from './attempt-failure.ts';

/** Maximum bytes of status line and headers, including provisional answers. The same limit as in Node.js. */
const HEAD_BYTES_MAX = 16 * 1_024;
const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.\d (\d)(\d\d)/;
const STATUS_LINE_START = 'HTTP/1.';

/** Errors of reused connections that the peer closed before the first byte of an answer. */
const unanswered = new WeakSet<Error>();

/** True if the endpoint closed a reused connection without an answer, and so may not have received the request. */
export function isUnanswered(error: Error): boolean {
  return unanswered.has(error);
}

/** `socket` must belong to one HTTP/1.1 client that makes one request at a time and reads with `read`. */
export function guardAnswers(socket: Socket, restBytesMax: number): void {
  const gate = new AnswerGate(restBytesMax);
  const { read, write } = socket;
  socket.write = ((...parameters: Parameters<Socket['write']>) => {
    gate.noteRequest();
    return write.apply(socket, parameters);
  }) as Socket['write'];
  socket.read = (size) => {
    for (;;) {
      const chunk = read.call(socket, size) as Buffer | null;
      if (chunk === null) return null;
      const passed = gate.pass(chunk);
      if (passed instanceof AttemptFailure) {
        socket.destroy(passed);
        return null;
      }
      if (passed.length > 0) return passed;
    }
  };
  socket.prependListener('error', (error) => {
    if (gate.isUnanswered) unanswered.add(error);
  });
}

class AnswerGate {
  readonly #restBytesMax: number;
  #requests = 0;
  /** Number of bytes of the current answer. */
  #bytes = 0;
  /** Number of bytes of the provisional answers before the current answer. */
  #provisionalBytes = 0;
  /** The part of the head received so far; null if no head is awaited. */
  #head: Buffer | null = null;

  constructor(restBytesMax: number) {
    this.#restBytesMax = restBytesMax;
  }

  get isUnanswered(): boolean {
    return this.#requests > 1 && this.#bytes === 0 && this.#head !== null;
  }

  /** A request may be written in several pieces. Only the first write after an answer begins the next request. */
  noteRequest(): void {
    if (this.#head !== null) return;
    this.#requests += 1;
    this.#bytes = 0;
    this.#provisionalBytes = 0;
    this.#head = Buffer.alloc(0);
  }

  /** Returns the bytes that the client may read now, possibly none, or a failure if the endpoint sent too much. */
  pass(chunk: Buffer): Buffer | AttemptFailure {
    this.#bytes += chunk.length;
    if (this.#head !== null)
      return this.#passHead(this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]));
    return this.#bytes <= this.#restBytesMax ? chunk : tooLong('the answer', this.#restBytesMax);
  }

  #passHead(received: Buffer): Buffer | AttemptFailure {
    let head = received;
    for (;;) {
      const end = head.indexOf(HEAD_END);
      const isProvisional = end >= 0 && isProvisionalStatus(head);
      // Bytes that are not HTTP are passed on, because the client reports them with the best error message.
      if ((end >= 0 && !isProvisional) || !mayBeStatusLine(head)) {
        this.#head = null;
        this.#bytes = head.length;
        return head;
      }
      if (isProvisional) this.#provisionalBytes += end + HEAD_END.length;
      const headBytes = this.#provisionalBytes + (isProvisional ? 0 : head.length);
      if (headBytes > HEAD_BYTES_MAX) return tooLong('the head of the answer', HEAD_BYTES_MAX);
      if (!isProvisional) break;
      head = head.subarray(end + HEAD_END.length);
    }
    this.#head = head;
    return Buffer.alloc(0);
  }
}

/** Status 101 is passed on, because bytes of another protocol follow it. */
function isProvisionalStatus(head: Buffer): boolean {
  const [, hundreds, rest] = STATUS_LINE.exec(head.toString('latin1', 0, 'HTTP/1.1 100'.length)) ?? [];
  return hundreds === '1' && rest !== '01';
}

function mayBeStatusLine(head: Buffer): boolean {
  const start = head.toString('latin1', 0, STATUS_LINE_START.length);
  return STATUS_LINE_START.startsWith(start);
}

function tooLong(what: string, bytesMax: number): AttemptFailure {
  return new AttemptFailure('protocol', `${what} is longer than ${bytesMax} bytes`);
}
