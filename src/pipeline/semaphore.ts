/** Slots taken before work starts and given back when it ends; who finds too few waits in line. */

export interface Semaphore {
  acquire(count: number): Promise<void>;
  release(count: number): void;
}

/** `count` of a single `acquire` must not exceed `max`. */
export function createSemaphore(max: number): Semaphore {
  let free = max;
  const waiting: { readonly count: number; readonly proceed: () => void }[] = [];
  return {
    acquire(count) {
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
