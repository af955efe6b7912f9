/** Work that others wait for only so long. It goes on by itself when they have gone. */

/** Whether `work` has ended, however it did, before `timeoutMs` were over. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isOver = (): boolean => true;
  return Promise.race([work.then(isOver, isOver), isLate]).finally(() => clearTimeout(timer));
}

/** Settles as `work` does; rejects with what `late` makes once `timeoutMs` are over. */
export function inTime<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
