/**
 * Evaluates batches in stream order. While one batch is being written, the next one is evaluated, so that the process
 * computes while PostgreSQL writes. If the key of an item is being written, the item waits for a later batch. A batch
 * whose write failed is recorded again, and its keys are recorded alone until they are written.
 */

interface Part<Item> {
  /** Items to record with a later batch. */
  readonly deferred: readonly Item[];
}

interface PipelineWork<Item, Recorded extends Part<Item>> {
  /**
   * Resolves when the items are written, or with null if recording has ended. Calls `onEvaluated` with the deferred
   * items as soon as the next batch may be evaluated.
   */
  readonly record: (
    items: readonly Item[],
    onEvaluated: (deferred: readonly Item[]) => void,
  ) => Promise<Recorded | null>;
  /** Called with the written batch. Resolves when there is room for more. */
  readonly handOn: (recorded: Recorded) => Promise<void>;
  readonly keyOf: (item: Item) => unknown;
}

/** A batch that was evaluated but not yet written and handed on. */
interface Writing<Item> {
  readonly items: Item[];
  readonly keys: ReadonlySet<unknown>;
  /** Resolves when the batch is handed on or has failed; rejects if handing it on fails. */
  readonly ended: Promise<void>;
  hasFailed: boolean;
}

/** Maximum number of batches being written while the next one is evaluated. More would compete for the same core. */
const BESIDE_MAX = 1;

/** `receive` and `settle` belong to an actor: see `ActorOptions`. */
export class BatchPipeline<Item, Recorded extends Part<Item>> {
  readonly #work: PipelineWork<Item, Recorded>;
  readonly #writing = new Set<Writing<Item>>();
  /** Keys of batches that could not be written. */
  readonly #doubtful = new Set<unknown>();

  constructor(work: PipelineWork<Item, Recorded>) {
    this.#work = work;
  }

  /** Resolves with the deferred items once the batch is evaluated or, if it is recorded alone, written. */
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

  /** Resolves with the items to record again, once the current batches are written or `arrival` resolves. */
  async settle(arrival: Promise<void>): Promise<readonly Item[]> {
    await Promise.race([this.#untilWriting(0), arrival]);
    return this.#takeFailed();
  }

  /** Records `item` in place of the abandoned item `givenUp`, out of order. */
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
        // The error occurs again when the batch is recorded alone.
        () => {
          writing.hasFailed = true;
        },
      ),
    };
    this.#writing.add(writing);
    // The next caller that waits for this batch receives the error.
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
