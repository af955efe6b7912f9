/** Waiting for time to pass, and letting others have their turn. Nobody else of the house sleeps. */

/** Resolves after `durationMs`, or as soon as `stopping` is aborted. Never rejects. */
export function pause(durationMs: number, stopping?: AbortSignal): Promise<void> {
  if (stopping?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stopping?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    stopping?.addEventListener('abort', end);
  });
}

/** Does `work`, then rests `factor` times as long as it took: that leaves the rest of a server's time to others. */
export async function rested<T>(work: () => Promise<T>, factor: number, stopping?: AbortSignal): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  await pause((performance.now() - startedAt) * factor, stopping);
  return result;
}

/** Resolves when timers and sockets that are ready have had their turn. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What it returns does `work` once, behind the present turn, however often it is called before. */
export function oncePerTurn(work: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      work();
    });
  };
}
