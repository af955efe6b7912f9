/** Slots taken before work starts and given back when it ends; who finds too few waits in line. */

export interface Semaphore {
  /** Rejects with `RangeError` when `count` exceeds all slots there are: it would wait for ever. */
  acquire(count: number): Promise<void>;
  release(count: number): void;
}

export function createSemaphore(max: number): Semaphore {
  let free = max;
  const waiting: { readonly count: number; readonly proceed: () => void }[] = [];
  return {
    acquire(count) {
      if (count > max) return Promise.reject(new RangeError(`${count} slots asked for where there are ${max}`));
      if (waiting.length === 0 && free >= count) {
        free -= count;
        return Promise.resolve();
      }
      return new Promise((proceed) => waiting.push({ count, proceed }));
    },
    release(count) {
      free += count;
      while (waiting[0] !== undefined && free >= waiting[0].count) {
        const next = waiting.shift() as (typeof waiting)[number];
        free -= next.count;
        next.proceed();
      }
    },
  };
}
