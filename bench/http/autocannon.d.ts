/** The part of autocannon 9 that the benchmark uses, because the package has no types. */

declare module 'autocannon' {
  interface Request {
    readonly method?: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** In seconds. */
    readonly duration: number;
    /** Seconds until a missing answer counts as an error. */
    readonly timeout: number;
    readonly requests: readonly Request[];
    readonly setupClient?: (client: Client) => void;
  }
  /** One connection. */
  interface Client {
    setRequests(requests: readonly Request[]): void;
  }
  interface Result {
    readonly requests: { readonly average: number; readonly total: number };
    /** In milliseconds. */
    readonly latency: { readonly p50: number; readonly p99: number; readonly max: number };
    readonly throughput: { readonly average: number };
    readonly non2xx: number;
    readonly errors: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
