/**
 * Evaluates batches in stream order. While one batch is being written, the next one is evaluated, so that the process
 * computes while PostgreSQL writes. An item waits for a later batch while items with its key (its property) are being
 * written. Items that need a large state are recorded apart, one batch at a time; items of other keys wait only at
 * `WAITING_APART_MAX`. A batch whose write failed is recorded again, and its keys alone until they are written.
 */

/** The items of a batch that were not recorded with it. */
export interface Rest<Item> {
  /** Items to record with a later batch. */
  readonly deferred: readonly Item[];
  /** Items that need a large state that was not read, and later items of their keys. */
  readonly stateless: readonly Item[];
}

export interface RecordOptions<Item> {
  /** Called as soon as the next batch may be evaluated. */
  readonly onEvaluated?: (rest: Rest<Item>) => void;
  /** If true, large states are not read. */
  readonly leavesLarge?: boolean;
}

interface PipelineWork<Item, Recorded extends { readonly rest: Rest<Item> }> {
  /** Resolves when the items are written, or with null if recording has ended. */
  readonly record: (items: readonly Item[], options: RecordOptions<Item>) => Promise<Recorded | null>;
  /** Called with each written batch. Resolves when there is room for another. */
  readonly handOn: (recorded: Recorded) => Promise<void>;
  readonly keyOf: (item: Item) => unknown;
}

/** A batch that is not yet written and handed on. */
interface Writing<Item> {
  readonly items: Item[];
  readonly keys: ReadonlySet<unknown>;
  /** Resolves when the batch is handed on or has failed; rejects if handing it on fails. */
  readonly ended: Promise<void>;
  hasFailed: boolean;
}

/** Maximum number of batches being written while another is evaluated; a batch apart does not count. */
const BESIDE_MAX = 1;
/** While this many items wait to be recorded apart, nothing else is recorded, so that senders wait. */
const WAITING_APART_MAX = 256;

const NOTHING_LEFT = { deferred: [], stateless: [] };

/** `receive` and `settle` belong to an actor: see `ActorOptions`. */
export class BatchPipeline<Item, Recorded extends { readonly rest: Rest<Item> }> {
  readonly #work: PipelineWork<Item, Recorded>;
  readonly #writing = new Set<Writing<Item>>();
  #apart: Writing<Item> | null = null;
  /** Items that wait to be recorded apart, in their order. */
  #waitingApart: readonly Item[] = [];
  /** Keys of batches that could not be written. */
  readonly #doubtful = new Set<unknown>();

  constructor(work: PipelineWork<Item, Recorded>) {
    this.#work = work;
  }

  /** Resolves with the items to receive again, once the batch is evaluated or, if it is recorded alone, written. */
  async receive(items: readonly Item[]): Promise<readonly Item[]> {
    while (this.#waitingApart.length >= WAITING_APART_MAX && isOpen(this.#apart)) await this.#apart.ended;
    const isDoubtful = items.some((item) => this.#doubtful.has(this.#work.keyOf(item)));
    const [, expected] = this.#divide(items);
    const isAlone = isDoubtful || (expected.length > 0 && !expected.some((item) => this.#isFree(item)));
    await this.#untilWriting(isAlone ? 0 : BESIDE_MAX);
    const failed = this.#takeFailed();
    if (failed.length > 0) return [...failed, ...items];
    const [apart, others] = this.#divide(items);
    const own = others.filter((item) => this.#isFree(item));
    const waiting = others.filter((item) => !this.#isFree(item));
    const { deferred, stateless } = await (isAlone ? this.#recordAlone(own, !isDoubtful) : this.#recordBeside(own));
    this.#addApart([...stateless, ...apart]);
    return [...waiting, ...deferred];
  }

  /** Resolves with the items to record again, once the current batches are written or `arrival` resolves. */
  async settle(arrival: Promise<void>): Promise<readonly Item[]> {
    await Promise.race([this.#untilIdle(), arrival]);
    return this.#takeFailed();
  }

  /** Records `item` in place of the abandoned item `givenUp`: alone, or together with a failed batch. */
  async replace(givenUp: Item, item: Item): Promise<void> {
    await this.#untilWriting(0);
    this.#doubtful.delete(this.#work.keyOf(givenUp));
    const [failed] = this.#writing;
    if (failed === undefined) await this.#recordAlone([item]);
    else failed.items.push(item);
  }

  async #recordAlone(items: readonly Item[], leavesLarge = false): Promise<Rest<Item>> {
    const recorded = items.length === 0 ? null : await this.#work.record(items, { leavesLarge });
    if (recorded === null) return NOTHING_LEFT;
    for (const item of items) this.#doubtful.delete(this.#work.keyOf(item));
    await this.#work.handOn(recorded);
    return recorded.rest;
  }

  async #recordBeside(items: readonly Item[]): Promise<Rest<Item>> {
    if (items.length === 0) return NOTHING_LEFT;
    let onEvaluated: (rest: Rest<Item>) => void = () => undefined;
    const evaluated = new Promise<Rest<Item>>((resolve) => {
      onEvaluated = resolve;
    });
    const recorded = this.#work.record(items, { onEvaluated, leavesLarge: true });
    const rest = await Promise.race([evaluated, recorded.then((part) => part?.rest ?? NOTHING_LEFT)]);
    const left = new Set([...rest.deferred, ...rest.stateless]);
    const begun = items.filter((item) => !left.has(item));
    const writing = this.#begin(begun, recorded, () => this.#writing.delete(writing));
    this.#writing.add(writing);
    return rest;
  }

  #addApart(items: readonly Item[]): void {
    this.#waitingApart = [...this.#waitingApart, ...items];
    this.#beginApart();
  }

  /** Must be called when a batch ends and when items are added, because nothing else begins a batch apart. */
  #beginApart(): void {
    if (this.#apart !== null) return;
    const items = this.#waitingApart.filter((item) => this.#isFree(item));
    if (items.length === 0) return;
    this.#waitingApart = this.#waitingApart.filter((item) => !this.#isFree(item));
    this.#apart = this.#begin(items, this.#work.record(items, {}), (rest) => {
      this.#apart = null;
      this.#waitingApart = [...rest.deferred, ...rest.stateless, ...this.#waitingApart];
    });
  }

  #begin(items: Item[], recorded: Promise<Recorded | null>, onWritten: (rest: Rest<Item>) => void): Writing<Item> {
    const { handOn, keyOf } = this.#work;
    const writing: Writing<Item> = {
      items,
      keys: new Set(items.map(keyOf)),
      hasFailed: false,
      ended: recorded.then(
        async (part) => {
          if (part !== null) await handOn(part);
          onWritten(part?.rest ?? NOTHING_LEFT);
          this.#beginApart();
        },
        // A lasting error occurs again when the batch is recorded alone.
        () => {
          writing.hasFailed = true;
        },
      ),
    };
    // The next caller that waits for this batch receives the error.
    writing.ended.catch(() => undefined);
    return writing;
  }

  #isFree(item: Item): boolean {
    const key = this.#work.keyOf(item);
    for (const { keys } of this.#writing) if (keys.has(key)) return false;
    return true;
  }

  /** Separates the items whose key is being recorded apart or waits to be recorded apart. */
  #divide(items: readonly Item[]): readonly [apart: readonly Item[], others: readonly Item[]] {
    const keys = new Set([...(this.#apart?.keys ?? []), ...this.#waitingApart.map(this.#work.keyOf)]);
    const isApart = (item: Item): boolean => keys.has(this.#work.keyOf(item));
    return [items.filter(isApart), items.filter((item) => !isApart(item))];
  }

  async #untilWriting(max: number): Promise<void> {
    for (;;) {
      const open = [...this.#writing].filter(isOpen);
      if (open.length <= max) return;
      await Promise.race(open.map(({ ended }) => ended));
    }
  }

  async #untilIdle(): Promise<void> {
    for (;;) {
      await this.#untilWriting(0);
      if (!isOpen(this.#apart)) return;
      await this.#apart.ended;
    }
  }

  /** Takes the items of failed batches, then those that wait to be recorded apart: their keys may be the same. */
  #takeFailed(): readonly Item[] {
    const failed = [...this.#writing, this.#apart].filter(
      (each) => each?.hasFailed === true,
    ) as readonly Writing<Item>[];
    if (failed.length === 0) return [];
    for (const each of failed) {
      this.#writing.delete(each);
      if (each === this.#apart) this.#apart = null;
      for (const key of each.keys) this.#doubtful.add(key);
    }
    const waiting = this.#waitingApart;
    this.#waitingApart = [];
    return [...failed.flatMap(({ items }) => items), ...waiting];
  }
}

function isOpen<Item>(writing: Writing<Item> | null): writing is Writing<Item> {
  return writing !== null && !writing.hasFailed;
}
