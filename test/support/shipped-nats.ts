/** A nats-server with the shipped configuration. Uses the installed program, or that of the distribution's package. */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'nats';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { findNatsServer } from '../../src/local/nats-server.ts';
import { ROOT } from './checkout.ts';
import { portForLater } from './ports.ts';
import { CACHE, type Cleanup, temporaryDirectory } from './servers.ts';

const CONFIG = join(ROOT, 'config/nats-server.conf');
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** Uses other addresses and paths, and no options that an older server lacks. Resolves with `host:port`. */
export async function startShippedNats(
  cleanup: Cleanup,
  passwords: { readonly vigie: string; readonly crawler: string },
  program: string | null = process.env.NATS_SERVER_BIN || null,
): Promise<string> {
  const directory = await temporaryDirectory('shipped-nats');
  await mkdir(join(directory, 'store'));
  const binary = await findNatsServer(program, CACHE);
  const port = await portForLater();
  const shipped = await readFile(CONFIG, 'utf8');
  const config = shipped
    .replace('host: 0.0.0.0', 'host: "127.0.0.1"')
    .replace('port: 4222', `port: ${port}`)
    .replace(/^http: .*$/m, '')
    .replace('store_dir: /var/lib/nats', 'store_dir: "store"')
    .replace(/^ *sync_interval: always$/m, binary.canSyncAlways ? '$&' : '');
  await writeFile(join(directory, 'nats-server.conf'), config);
  const server = await startChildServer({
    ...{ name: 'nats-server', command: binary.path, user: null, directory, stopSignal: 'SIGTERM' },
    args: ['--config', 'nats-server.conf'],
    environment: { VIGIE_NATS_PASSWORD: `"${passwords.vigie}"`, CRAWLER_NATS_PASSWORD: `"${passwords.crawler}"` },
    logFile: join(directory, 'server.log'),
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  cleanup.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const address = `127.0.0.1:${port}`;
  const probe = () =>
    connect({ servers: address, user: 'vigie', pass: passwords.vigie, reconnect: false }).then(
      (connection) => connection.close().then(() => true as const),
      () => null,
    );
  await waitUntilReady(server, READY_TIMEOUT_MS, probe);
  return address;
}
