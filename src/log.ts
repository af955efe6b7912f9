/**
 * Structured logs: JSON lines on standard output, one wide line per fact; lines for reading where a person looks on.
 * Secrets and contacts are never logged.
 *
 * The lines of one turn of the event loop leave in one write: a busy API answers dozens of requests a turn, and a
 * write of its own for each line would cost as much as answering. Nothing waits for a timer or for a full buffer.
 * Whatever ends the process in order (a signal that drains, `process.exit`, an uncaught error) writes the rest first;
 * `kill -9` loses at most the lines of the turn that it interrupts.
 */

import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** Writes to the file descriptor `to`. One for the life of the process: it is written out when the process exits. */
export function createLog(level: string, to: number = process.stdout.fd): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: isoTime(),
    messageKey: 'message',
  };
  if (!isatty(to)) return pino(options, turnByTurn(pino.destination({ dest: to, sync: true })));
  const forReading = { messageKey: 'message', singleLine: true, sync: true, translateTime: 'SYS:HH:MM:ss' };
  return pino(options, pretty({ ...forReading, destination: to }));
}

/** The member `time` of a line, written once per millisecond. */
function isoTime(): () => string {
  let writtenAt = 0;
  let member = '';
  return () => {
    const now = Date.now();
    if (now !== writtenAt) {
      writtenAt = now;
      member = `,"time":"${new Date(now).toISOString()}"`;
    }
    return member;
  };
}

/** `flushSync` is what pino calls after a fatal line. */
function turnByTurn(destination: DestinationStream): DestinationStream & { readonly flushSync: () => void } {
  let lines = '';
  const flushSync = (): void => {
    const text = lines;
    lines = '';
    if (text !== '') destination.write(text);
  };
  process.once('exit', flushSync);
  return {
    write(line) {
      if (lines === '') setImmediate(flushSync);
      lines += line;
    },
    flushSync,
  };
}
