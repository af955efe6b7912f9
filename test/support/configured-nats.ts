/** A nats-server with a test's own configuration, which can change at a restart. */

import { rm } from 'node:fs/promises';
import { type ChildServer, freePort } from '../../src/local/child-server.ts';
import { startWithConfiguration } from './nats-cluster.ts';
import { type Cleanup, temporaryDirectory } from './servers.ts';

export interface ConfiguredNats {
  readonly port: number;
  /** Restarts it with `lines` in addition to its address and store. */
  configure(lines: readonly string[]): Promise<void>;
}

export async function startConfiguredNats(cleanup: Cleanup, first: readonly string[]): Promise<ConfiguredNats> {
  const directory = await temporaryDirectory('configured-nats');
  const port = await freePort();
  const base = ['host: "127.0.0.1"', `port: ${port}`, 'jetstream { store_dir: "store", max_file_store: 1073741824 }'];
  let server: ChildServer | null = null;
  cleanup.after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const configure = async (lines: readonly string[]): Promise<void> => {
    await server?.stop();
    server = await startWithConfiguration('nats', directory, port, [...base, ...lines, ''].join('\n'));
  };
  await configure(first);
  return { port, configure };
}
