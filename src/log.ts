/**
 * Structured logs: JSON lines on standard output, one wide line per fact; lines for reading where a person looks on.
 * Secrets and contacts are never logged.
 */

import { type Logger, type LoggerOptions, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

export function createLog(level: string): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
  };
  if (!process.stdout.isTTY) return pino(options);
  return pino(options, pretty({ messageKey: 'message', singleLine: true, sync: true, translateTime: 'SYS:HH:MM:ss' }));
}
