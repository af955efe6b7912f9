/**
 * Caddy with the committed Caddyfile. Uses the installed program, or the distribution's package unpacked into the
 * cache.
 */

import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { ROOT } from './checkout.ts';
import { portForLater } from './ports.ts';
import { CACHE, type Cleanup, temporaryDirectory } from './servers.ts';

const run = promisify(execFile);
const CADDYFILE = join(ROOT, 'config/Caddyfile');
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** Rejects if Caddy is not installed and the distribution has no package of it. */
export async function findCaddy(): Promise<string> {
  const isThere = (path: string) => succeeds(access(path));
  if (await isThere('/usr/bin/caddy')) return '/usr/bin/caddy';
  const program = 'usr/bin/caddy';
  const root = await cacheEntry(
    CACHE,
    `caddy-${process.arch}`,
    (path) => isThere(join(path, program)),
    (path) => unpackDebianPackages(['caddy'], path),
  );
  return join(root, program);
}

export interface Caddy {
  readonly url: string;
  /** PEM file of Caddy's own certificate authority. */
  readonly authorityFile: string;
}

/** Starts Caddy with the shipped Caddyfile, on free ports and for `localhost`. `upstream`: `host:port` of the API. */
export async function startCaddy(cleanup: Cleanup, upstream: string): Promise<Caddy> {
  const program = await findCaddy();
  const directory = await temporaryDirectory('caddy');
  const [port, plainPort] = [await portForLater(), await portForLater()];
  const config = join(directory, 'Caddyfile');
  await writeFile(
    config,
    `{\n admin off\n skip_install_trust\n https_port ${port}\n http_port ${plainPort}\n}\nimport ${CADDYFILE}\n`,
  );
  const environment = { HOME: directory, XDG_DATA_HOME: directory, PATH: '/usr/bin:/bin', VIGIE_UPSTREAM: upstream };
  await run(program, ['validate', '--adapter', 'caddyfile', '--config', config], { env: environment });
  const server = await startChildServer({
    ...{ name: 'caddy', command: program, user: null, directory, environment, stopSignal: 'SIGTERM' },
    args: ['run', '--adapter', 'caddyfile', '--config', config],
    logFile: join(directory, 'server.log'),
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  cleanup.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const authorityFile = join(directory, 'caddy/pki/authorities/local/root.crt');
  await waitUntilReady(server, READY_TIMEOUT_MS, () =>
    access(authorityFile).then(
      () => true,
      () => null,
    ),
  );
  return { url: `https://localhost:${port}`, authorityFile };
}
