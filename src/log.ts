/** Structured logs: JSON lines on standard output, one wide line per fact. Secrets and contacts are never logged. */

import { type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'message' });
}
