/**
 * One worker thread that answers requests, so that long work blocks no other event loop. It starts with the first
 * request. A cancelled request is visible as a flag in shared memory, which the work reads between two slices, and as
 * an aborted signal, which ends its waits. A thread that fails also fails its requests under way; the next request
 * starts another thread.
 */

import { parentPort, Worker, workerData } from 'node:worker_threads';

/** The thread ended before it answered. */
export class WorkerLostError extends Error {
  readonly code = 'WORKER_LOST';
}

export interface WorkerThreadOptions {
  /** The module that calls `answerRequests`, beside the module that names it, without its suffix. */
  readonly entry: URL;
  /** What `settingsOfThread` returns in the thread: plain data. */
  readonly settings: unknown;
  /** Heap limit; a thread that exceeds it ends. */
  readonly heapMaxMb: number;
  /** Called once when the thread has failed. */
  readonly onLost: (error: Error) => void;
}

export interface WorkerThread {
  /** Rejects with the work's error, with the signal's reason once the work has ended, or with `WorkerLostError`. */
  ask(request: unknown, signal?: AbortSignal): Promise<unknown>;
  /** Ends the thread; requests under way are lost. */
  stop(): Promise<void>;
}

/** A request or, without `request`, its cancellation. */
interface ToThread {
  readonly id: number;
  readonly flag?: Int32Array;
  readonly request?: unknown;
}

interface FromThread {
  readonly id: number;
  readonly answer?: unknown;
  readonly failure?: {
    readonly message: string;
    readonly stack?: string;
    readonly code?: unknown;
    readonly syscall?: unknown;
    readonly severity?: unknown;
  };
}

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;
  readonly cancel: () => void;
}

/** Requests that the thread has not answered. */
class PendingRequests {
  readonly #byId = new Map<number, Pending>();

  get size(): number {
    return this.#byId.size;
  }

  add(id: number, pending: Pending): void {
    this.#byId.set(id, pending);
    pending.signal?.addEventListener('abort', pending.cancel, { once: true });
  }

  /** The answer of a thread that has failed may arrive after its failure: the request has been rejected by then. */
  settle({ id, answer, failure }: FromThread): void {
    const { resolve, reject, signal } = this.#take(id) ?? {};
    if (failure === undefined) resolve?.(answer);
    else reject?.(signal?.aborted ? signal.reason : Object.assign(new Error(failure.message), failure));
  }

  lose(cause: Error): void {
    for (const id of this.#byId.keys()) {
      this.#take(id)?.reject(new WorkerLostError('the worker thread ended before it answered', { cause }));
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#byId.get(id);
    this.#byId.delete(id);
    pending?.signal?.removeEventListener('abort', pending.cancel);
    return pending;
  }
}

export function createWorkerThread(options: WorkerThreadOptions): WorkerThread {
  const pending = new PendingRequests();
  let worker: Worker | null = null;
  let lastId = 0;
  let hasStopped = false;

  function start(): Worker {
    const started = spawn(options);
    const lose = (error: Error): void => {
      if (worker !== started) return;
      worker = null;
      if (!hasStopped) options.onLost(error);
      pending.lose(error);
    };
    started.on('message', (message: FromThread) => {
      pending.settle(message);
      if (pending.size === 0) started.unref();
    });
    started.on('error', lose);
    started.on('exit', (code) => lose(new Error(`the worker thread exited with ${code}`)));
    return started;
  }

  return {
    ask: (request, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        if (hasStopped) throw new WorkerLostError('the worker thread was stopped');
        worker ??= start();
        const asked = worker;
        const id = ++lastId;
        const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
        const cancel = (): void => {
          Atomics.store(flag, 0, 1);
          send(asked, { id });
        };
        send(asked, { id, flag, request });
        // The thread keeps the process alive only while it has requests.
        asked.ref();
        pending.add(id, { resolve, reject, signal, cancel });
      }),
    async stop() {
      hasStopped = true;
      await worker?.terminate();
    },
  };
}

/** What a thread runs. */
export type ThreadProgram = Pick<WorkerThreadOptions, 'entry' | 'heapMaxMb'>;

/** As `WorkerThread.ask`, of the thread that runs the program. */
export type AskThread = (program: ThreadProgram, request: unknown, signal?: AbortSignal) => Promise<unknown>;

/** One thread per module, started by the first request to it. */
export function createWorkerThreads(common: Pick<WorkerThreadOptions, 'settings' | 'onLost'>): {
  readonly ask: AskThread;
  readonly stop: () => Promise<void>;
} {
  const threads = new Map<string, WorkerThread>();
  return {
    ask(program, request, signal) {
      const thread = threads.get(program.entry.href) ?? createWorkerThread({ ...common, ...program });
      threads.set(program.entry.href, thread);
      return thread.ask(request, signal);
    },
    async stop() {
      await Promise.all([...threads.values()].map((thread) => thread.stop()));
    },
  };
}

function send(worker: Worker, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message);
}

/** A worker does not load the loader of TypeScript that its process was started with. */
const LOAD_TYPESCRIPT = `
  const { workerData } = require('node:worker_threads');
  import(workerData.loader).then(({ register }) => { register(); return import(workerData.entry); });`;

function spawn({ entry, settings, heapMaxMb }: WorkerThreadOptions): Worker {
  const suffix = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const module = entry.href + suffix;
  const isTypeScript = suffix === '.ts';
  return new Worker(isTypeScript ? LOAD_TYPESCRIPT : new URL(module), {
    eval: isTypeScript,
    execArgv: [],
    workerData: { settings, entry: module, loader: isTypeScript ? import.meta.resolve('tsx/esm/api') : null },
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  });
}

/** In the thread: the settings that it was started with. */
export function settingsOfThread(): unknown {
  return (workerData as { readonly settings: unknown }).settings;
}

/** In the thread: whether the request was cancelled. */
export interface Cancellation {
  readonly signal: AbortSignal;
  /** Throws as soon as the request is cancelled, even before a message is read. */
  throwIfCancelled(): void;
}

class CancelledError extends Error {
  readonly code = 'CANCELLED';
}

/** In the thread: answers requests concurrently. An error of `answer` fails one request and ends no other. */
export function answerRequests(answer: (request: unknown, cancellation: Cancellation) => Promise<unknown>): void {
  const port = parentPort;
  if (port === null) throw new Error('requests are answered in a worker thread');
  const underWay = new Map<number, AbortController>();
  port.on('message', async ({ id, flag, request }: ToThread) => {
    if (flag === undefined) {
      underWay.get(id)?.abort(new CancelledError('cancelled'));
      return;
    }
    const controller = new AbortController();
    underWay.set(id, controller);
    const throwIfCancelled = (): void => {
      if (Atomics.load(flag, 0) === 1) throw new CancelledError('cancelled');
    };
    const answered = answer(request, { signal: controller.signal, throwIfCancelled });
    port.postMessage(
      await answered.then(
        (given) => ({ id, answer: given }),
        (error: Error) => failureOf(id, error),
      ),
    );
    underWay.delete(id);
  });
}

/** Copying a message between threads loses the members that identify an error's class. */
function failureOf(id: number, error: Error): FromThread {
  const { message, stack, code, syscall, severity } = error as Error & Record<'code' | 'syscall' | 'severity', unknown>;
  return { id, failure: { message, ...(stack === undefined ? {} : { stack }), code, syscall, severity } };
}
