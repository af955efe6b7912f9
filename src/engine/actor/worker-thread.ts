/**
 * A worker thread that answers requests, so that long work does not block other event loops. The first request starts
 * the thread. Each request has its own channel, which Node.js closes if the thread ends first. Cancelling a request
 * aborts a signal in the thread, which ends the waits of the work. A long computation must often yield to the event
 * loop and check the signal. If the thread fails, its current requests fail too, and the next request restarts it.
 */

import { MessageChannel, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';

/** The thread ended before it answered, or was stopped. */
export class WorkerLostError extends Error {
  readonly code = 'WORKER_LOST';
}

export interface WorkerThreadOptions {
  /** The URL of the module that calls `answerRequests`, without the suffix of the file name. */
  readonly entry: URL;
  /** Plain data that `settingsOfThread` returns in the thread. */
  readonly settings: unknown;
  /** Heap limit; a thread that exceeds it ends. */
  readonly heapMaxMb: number;
  /** Called once for each thread that ends before `stop` is called. */
  readonly onLost: (error: Error) => void;
}

export type WorkerThread = ReturnType<typeof createWorkerThread>;

/** The thread answers over `port`. Any message that the thread receives on `port` cancels the request. */
interface ToThread {
  readonly request: unknown;
  readonly port: MessagePort;
}

interface FromThread {
  readonly answer?: unknown;
  readonly failure?: {
    readonly message: string;
    readonly stack?: string;
    readonly code?: unknown;
    readonly syscall?: unknown;
    readonly severity?: unknown;
  };
}

export function createWorkerThread(options: WorkerThreadOptions) {
  let worker: Worker | null = null;
  let hasStopped = false;

  function start(): Worker {
    const started = spawn(options);
    // While requests are in progress, their ports keep the process alive.
    started.unref();
    let failure: Error | null = null;
    started.once('error', (error) => {
      failure = error;
    });
    started.once('exit', (code) => {
      if (worker === started) worker = null;
      if (!hasStopped) options.onLost(failure ?? new Error(`the worker thread exited with code ${code}`));
    });
    return started;
  }

  return {
    /** Rejects with the error of the work, with the signal's reason if cancelled, or with `WorkerLostError`. */
    ask: (request: unknown, signal?: AbortSignal): Promise<unknown> =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        if (hasStopped) throw new WorkerLostError('the worker thread was stopped');
        worker ??= start();
        const current = worker;
        const { port1: own, port2: port } = new MessageChannel();
        const cancel = (): void => {
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
          own.postMessage(null);
        };
        let hasAnswered = false;
        own.once('message', ({ answer, failure }: FromThread) => {
          hasAnswered = true;
          if (failure === undefined) resolve(answer);
          else reject(signal?.aborted ? signal.reason : Object.assign(new Error(failure.message), failure));
          own.close();
        });
        own.once('close', () => {
          signal?.removeEventListener('abort', cancel);
          if (hasAnswered) return;
          // The thread is ending: the next request needs another thread.
          if (worker === current) worker = null;
          reject(new WorkerLostError('the worker thread ended before it answered'));
        });
        signal?.addEventListener('abort', cancel, { once: true });
        current.postMessage({ request, port } satisfies ToThread, [port]);
      }),
    /** Ends the thread; its current requests are lost. */
    async stop() {
      hasStopped = true;
      await worker?.terminate();
    },
  };
}

/** The module that a thread runs, and its heap limit. */
export type ThreadProgram = Pick<WorkerThreadOptions, 'entry' | 'heapMaxMb'>;

/** Like `WorkerThread.ask`, for the thread that runs `program`. */
export type AskThread = (program: ThreadProgram, request: unknown, signal?: AbortSignal) => Promise<unknown>;

/** Manages one thread per module. The first request for a module starts its thread. */
export function createWorkerThreads(common: Pick<WorkerThreadOptions, 'settings' | 'onLost'>) {
  const threads = new Map<string, WorkerThread>();
  const ask: AskThread = (program, request, signal) => {
    const thread = threads.get(program.entry.href) ?? createWorkerThread({ ...common, ...program });
    threads.set(program.entry.href, thread);
    return thread.ask(request, signal);
  };
  return {
    ask,
    async stop() {
      await Promise.all([...threads.values()].map((thread) => thread.stop()));
    },
  };
}

/** A worker does not inherit the TypeScript loader of its process. */
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

/** For the thread: returns the settings that it was started with. */
export function settingsOfThread(): unknown {
  return (workerData as { readonly settings: unknown }).settings;
}

class CancelledError extends Error {
  readonly code = 'CANCELLED';
}

/**
 * For the thread: answers requests concurrently. An error of `answer` fails only its own request. `cancelled` is aborted
 * when the event loop delivers the cancellation of the request.
 */
export function answerRequests(answer: (request: unknown, cancelled: AbortSignal) => Promise<unknown>): void {
  if (parentPort === null) throw new Error('answerRequests must be called in a worker thread');
  parentPort.on('message', async ({ request, port }: ToThread) => {
    const controller = new AbortController();
    port.once('message', () => controller.abort(new CancelledError('cancelled')));
    const message: FromThread = await answer(request, controller.signal).then(
      (given) => ({ answer: given }),
      failureOf,
    );
    port.postMessage(message);
    port.close();
  });
}

/** Copies these members, because an error posted between threads loses those that identify its class. */
function failureOf(error: Error): FromThread {
  const { message, stack, code, syscall, severity } = error as Error & Record<'code' | 'syscall' | 'severity', unknown>;
  return { failure: { message, ...(stack === undefined ? {} : { stack }), code, syscall, severity } };
}
