/**
 * Combines concurrent reads of single keys: one statement for all callers that arrived while the previous one was under
 * way. So a flood of requests costs one connection, and each caller waits for a statement or two.
 */

interface Asked<T> {
  readonly answer: Promise<T | null>;
  readonly resolve: (found: T | null) => void;
  readonly reject: (error: Error) => void;
}

const KEYS_MAX = 256;

/** `read` leaves out missing keys; it is not called again before it has settled. */
export function gatherReads<T>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): (key: string) => Promise<T | null> {
  const waiting = new Map<string, Asked<T>>();
  let hasReader = false;

  async function readWaiting(): Promise<void> {
    hasReader = true;
    while (waiting.size > 0) {
      const batch = new Map([...waiting].slice(0, KEYS_MAX));
      for (const key of batch.keys()) waiting.delete(key);
      try {
        const found = await read([...batch.keys()]);
        for (const [key, { resolve }] of batch) resolve(found.get(key) ?? null);
      } catch (error) {
        for (const { reject } of batch.values()) reject(error as Error);
      }
    }
    hasReader = false;
  }

  return (key) => {
    const asked = waiting.get(key) ?? newAsked<T>();
    waiting.set(key, asked);
    if (!hasReader) void readWaiting();
    return asked.answer;
  };
}

function newAsked<T>(): Asked<T> {
  let resolve: Asked<T>['resolve'] = () => undefined;
  let reject: Asked<T>['reject'] = () => undefined;
  const answer = new Promise<T | null>((resolved, rejected) => {
    [resolve, reject] = [resolved, rejected];
  });
  return { answer, resolve, reject };
}
