/**
 * Structured logs: JSON lines on standard output, one line per fact, or readable lines on a terminal. Secrets and
 * contacts are never logged.
 *
 * The lines of one tick of the event loop share one write. A busy API answers dozens of requests per tick, and a
 * separate write for each line would cost as much as answering. No line waits for a timer or for a full buffer. Every
 * orderly end of the process (a signal that drains, `process.exit`, an uncaught error) first writes the rest. `kill -9`
 * loses at most the lines of the tick that it interrupts.
 */

import { isatty } from 'node:tty';
import { format } from 'node:util';
import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** Writes to the file descriptor `to`. Create one log per process, because it is flushed when the process exits. */
export function createLog(level: string, to: number = process.stdout.fd, isForReading = isatty(to)): Log {
  const destination = isForReading ? forReading(to) : tickByTick(pino.destination({ dest: to, sync: true }));
  return pino({ level, base: null, timestamp: isoTime(), messageKey: 'message' }, destination);
}

/** Turns the console output of libraries into log lines. */
export function adoptConsole(log: Log): void {
  const warn = (...words: unknown[]): void => log.warn({ from: 'console' }, format(...words));
  Object.assign(console, { debug: warn, error: warn, info: warn, log: warn, warn });
}

function forReading(to: number): DestinationStream {
  return pretty({
    messageKey: 'message',
    singleLine: true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    destination: to,
  });
}

/** Returns a function for the member `time` of a line, which is formatted at most once per millisecond. */
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

/** Writes the lines of each event-loop tick together. pino calls `flushSync` after a fatal line. */
function tickByTick(destination: DestinationStream): DestinationStream & { readonly flushSync: () => void } {
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
