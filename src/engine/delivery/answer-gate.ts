/**
 * Filters an endpoint's bytes before the HTTP client: passes on the head of an answer when it is complete. It drops
 * provisional answers (1xx), because the client treats `100 Continue` as an error (RFC 9110, section 15.2: a client
 * must be able to take any of them). Every byte is counted; an endpoint that never sends an answer is cut off after a
 * few kilobytes instead of after the whole time of an attempt.
 */

import type { Socket } from 'node:net';
import { AttemptFailure } from './attempt-failure.ts';

/** Status line and headers, those of provisional answers included; Node.js takes as much. */
const HEAD_BYTES_MAX = 16 * 1_024;
const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.\d (\d)(\d\d)/;
const STATUS_LINE_START = 'HTTP/1.';

/** Failures of a kept connection that its peer closed before the first byte of this answer. */
const unanswered = new WeakSet<Error>();

/** True when the endpoint may not have received the request: it was closing the connection. */
export function isUnanswered(error: Error): boolean {
  return unanswered.has(error);
}

/** `socket` belongs to one HTTP/1.1 client that makes one request at a time and reads by `read`. */
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
  /** Bytes of the present answer. */
  #bytes = 0;
  /** Bytes of provisional answers before it. */
  #provisionalBytes = 0;
  /** The head so far; null once it has been passed on. */
  #head: Buffer | null = null;

  constructor(restBytesMax: number) {
    this.#restBytesMax = restBytesMax;
  }

  get isUnanswered(): boolean {
    return this.#requests > 1 && this.#bytes === 0 && this.#head !== null;
  }

  /** A request may be written in several pieces: the first write after an answer begins the next request. */
  noteRequest(): void {
    if (this.#head !== null) return;
    this.#requests += 1;
    this.#bytes = 0;
    this.#provisionalBytes = 0;
    this.#head = Buffer.alloc(0);
  }

  /** What the client may read now, possibly nothing; a failure when the endpoint has sent too much. */
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
      // The client has the best message for bytes that are not HTTP.
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

/** 101 may not be dropped: another protocol follows. */
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
