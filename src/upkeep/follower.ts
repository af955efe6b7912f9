/**
 * Keeps something in memory in step with rows of PostgreSQL: it looks at them every now and then, and at once when
 * somebody says that they have changed. One look at a time.
 */

export interface Follower {
  /** Looks now, or once more after the look under way, which may have come too early. */
  look(): void;
  /** Resolves when nothing is under way and nothing will be. */
  stop(): Promise<void>;
}

export interface FollowerParts {
  /** Of what is followed, for the log. */
  readonly what: string;
  readonly pollMs: number;
  /** Reads what has changed since the last look, if anything. */
  readonly refresh: () => Promise<void>;
  readonly onTrouble: (what: string, error: Error) => void;
}

/** Resolves after the first look; rejects when it fails. */
export async function startFollower({ what, pollMs, refresh, onTrouble }: FollowerParts): Promise<Follower> {
  await refresh();
  let running: Promise<void> | null = null;
  let isWanted = false;
  let isStopped = false;

  async function lookWhileWanted(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      await refresh().catch((error: Error) => onTrouble(what, error));
    }
    running = null;
  }

  function look(): void {
    isWanted = true;
    running ??= lookWhileWanted();
  }

  const timer = setInterval(look, pollMs);
  return {
    look,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
