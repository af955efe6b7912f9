/** Writes down once a minute by which medians prices are judged, for those who explain it elsewhere. */

import type { MarketMedians } from '../matching/market-medians.ts';
import type { Database } from '../store/database.ts';
import { writeMedians } from '../store/market-medians.ts';

export interface MedianRecords {
  stop(): Promise<void>;
}

export interface MedianRecordsDependencies {
  readonly database: Database;
  readonly medians: Pick<MarketMedians, 'all'>;
  readonly onTrouble: (what: string, error: Error) => void;
}

const WRITE_EVERY_MS = 60_000;

export function startMedianRecords({ database, medians, onTrouble }: MedianRecordsDependencies): MedianRecords {
  let running: Promise<void> | null = null;
  const write = (): void => {
    running ??= writeMedians(database, [...medians.all()])
      .catch((error: Error) => onTrouble('medians of markets', error))
      .finally(() => {
        running = null;
      });
  };
  write();
  const timer = setInterval(write, WRITE_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
