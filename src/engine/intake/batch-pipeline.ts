/**
 * Batches that are evaluated in the order of the stream: while one is written, the next one is evaluated, so that the
 * process computes while PostgreSQL writes. What a batch that is not written yet is about waits for it, as part of a later
 * batch. A batch that could not be written is recorded again, and whatever it is about goes alone until it is written.
 */

interface Part<Item> {
  /** Recorded with a later batch. */
  readonly deferred: readonly Item[];
}

interface PipelineWork<Item, Recorded extends Part<Item>> {
  /**
   * Resolves when the items are written; with null when nothing is to be recorded any more. `onEvaluated`: called with what
   * is deferred, when the next batch may be evaluated.
   */
  readonly record: (
    items: readonly Item[],
    onEvaluated: (deferred: readonly Item[]) => void,
  ) => Promise<Recorded | null>;
  /** Called with what is written; resolves when there is room for more. */
  readonly handOn: (recorded: Recorded) => Promise<void>;
  readonly keyOf: (item: Item) => unknown;
}

/** A batch that is evaluated and not written, or not handed on. */
interface Writing<Item> {
  readonly items: Item[];
  readonly keys: ReadonlySet<unknown>;
  /** Resolves when it is handed on, or has failed; rejects when nobody takes what is handed on. */
  readonly ended: Promise<void>;
  hasFailed: boolean;
}

/** Written while the next one is evaluated: more would share the same core. */
const BESIDE_MAX = 1;

/** `receive` and `settle` are an actor's: see `ActorOptions`. */
export class BatchPipeline<Item, Recorded extends Part<Item>> {
  readonly #work: PipelineWork<Item, Recorded>;
  readonly #writing = new Set<Writing<Item>>();
  /** What batches that could not be written are about. */
  readonly #doubtful = new Set<unknown>();

  constructor(work: PipelineWork<Item, Recorded>) {
    this.#work = work;
  }

  /** Resolves with what is deferred: when the batch is evaluated or, if it is alone, written. */
  async receive(items: readonly Item[]): Promise<readonly Item[]> {
    const isDoubtful = items.some((item) => this.#doubtful.has(this.#work.keyOf(item)));
    const isAlone = isDoubtful || !items.some((item) => this.#isFree(item));
    await this.#untilWriting(isAlone ? 0 : BESIDE_MAX);
    const failed = this.#takeFailed();
    if (failed.length > 0) return [...failed, ...items];
    const own = items.filter((item) => this.#isFree(item));
    const waiting = items.filter((item) => !this.#isFree(item));
    return [...waiting, ...(await (isAlone ? this.#recordAlone(own) : this.#recordBeside(own)))];
  }

  /** Resolves when what was begun is written, or when `arrival` does: with what has to be recorded again. */
  async settle(arrival: Promise<void>): Promise<readonly Item[]> {
    await Promise.race([this.#untilWriting(0), arrival]);
    return this.#takeFailed();
  }

  /** Records one out of its order, in the place of one that is given up. */
  async replace(givenUp: Item, item: Item): Promise<void> {
    await this.#untilWriting(0);
    this.#doubtful.delete(this.#work.keyOf(givenUp));
    const [failed] = this.#writing;
    if (failed === undefined) await this.#recordAlone([item]);
    else failed.items.push(item);
  }

  async #recordAlone(items: readonly Item[]): Promise<readonly Item[]> {
    const recorded = await this.#work.record(items, () => undefined);
    if (recorded === null) return [];
    const { deferred } = recorded;
    for (const item of items) this.#doubtful.delete(this.#work.keyOf(item));
    await this.#work.handOn(recorded);
    return deferred;
  }

  async #recordBeside(items: readonly Item[]): Promise<readonly Item[]> {
    let onEvaluated: (deferred: readonly Item[]) => void = () => undefined;
    const evaluated = new Promise<readonly Item[]>((resolve) => {
      onEvaluated = resolve;
    });
    const recorded = this.#work.record(items, onEvaluated);
    const deferred = await Promise.race([evaluated, recorded.then((part) => part?.deferred ?? [])]);
    const rest = new Set(deferred);
    this.#begin(
      items.filter((item) => !rest.has(item)),
      recorded,
    );
    return deferred;
  }

  #begin(items: Item[], recorded: Promise<Recorded | null>): void {
    const { handOn, keyOf } = this.#work;
    const writing: Writing<Item> = {
      items,
      keys: new Set(items.map(keyOf)),
      hasFailed: false,
      ended: recorded.then(
        async (part) => {
          if (part !== null) await handOn(part);
          this.#writing.delete(writing);
        },
        // It is met again when the batch is recorded alone.
        () => {
          writing.hasFailed = true;
        },
      ),
    };
    this.#writing.add(writing);
    // Whoever waits for it meets the error.
    writing.ended.catch(() => undefined);
  }

  #isFree(item: Item): boolean {
    const key = this.#work.keyOf(item);
    for (const { keys } of this.#writing) if (keys.has(key)) return false;
    return true;
  }

  async #untilWriting(max: number): Promise<void> {
    for (;;) {
      const open = [...this.#writing].filter(({ hasFailed }) => !hasFailed);
      if (open.length <= max) return;
      await Promise.race(open.map(({ ended }) => ended));
    }
  }

  #takeFailed(): readonly Item[] {
    const failed = [...this.#writing].filter(({ hasFailed }) => hasFailed);
    if (failed.length === 0) return [];
    for (const each of failed) {
      this.#writing.delete(each);
      for (const key of each.keys) this.#doubtful.add(key);
    }
    return failed.flatMap(({ items }) => items);
  }
}
