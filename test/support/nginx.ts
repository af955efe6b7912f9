/**
 * nginx: the one on the PATH, else that of the distribution's package, unpacked into the cache as nats-server is. It runs
 * the committed sample for cells, with the addresses of the test in the place of those that are written there.
 */

import { execFile, spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { freePort } from '../../src/local/child-server.ts';
import { ROOT } from './checkout.ts';
import { endProcess } from './prometheus.ts';
import { CACHE, type Cleanup } from './servers.ts';
import { until } from './until.ts';

const SAMPLE = join(ROOT, 'config/nginx-cells.conf');

export interface Proxy {
  readonly url: string;
  /** The file that the map belongs in. */
  readonly mapFile: string;
  /** Reads the map anew; resolves when every connection is served with it. */
  reload(): Promise<void>;
}

/** `cells`: `host:port` of the API of `default` and of `west`. */
export async function startCellProxy(
  cleanup: Cleanup,
  cells: { readonly default: string; readonly west: string },
): Promise<Proxy> {
  const program = await programPath();
  const folder = await mkdtemp(join(tmpdir(), 'vigie-nginx-'));
  const mapFile = join(folder, 'vigie-cells.map');
  await writeFile(mapFile, '');
  await mkdir(join(folder, 'temp'));
  const port = await freePort();
  const sample = (await readFile(SAMPLE, 'utf8'))
    .replace('/etc/nginx/vigie-cells.map', mapFile)
    .replace('127.0.0.1:8080', cells.default)
    .replace('127.0.0.1:8180', cells.west)
    .replace('127.0.0.1:8088', `127.0.0.1:${port}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${join(folder, 'temp', what)};`,
  );
  const config = join(folder, 'nginx.conf');
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')};
events {}
http { access_log off; ${temporary.join(' ')}
${sample}
# Which configuration a worker has.
server { listen 127.0.0.1:${port}; server_name generation; location / { return 200 "$pid"; } } }
`,
  );
  const child = spawn(program, ['-p', folder, '-c', config], { stdio: 'ignore' });
  cleanup.after(async () => {
    await endProcess(child, 'SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const worker = () => workerOf(port);
  await until(worker, (pid) => pid !== '');
  return {
    url,
    mapFile,
    async reload() {
      const before = await worker();
      child.kill('SIGHUP');
      await until(worker, (pid) => pid !== '' && pid !== before);
      // The former worker answers on connections that were kept until it has closed them.
      await until(
        () =>
          access(`/proc/${before}`).then(
            () => false,
            () => true,
          ),
        (isGone) => isGone,
      );
    },
  };
}

/** The process id of the worker that serves a new connection; empty when none does. */
function workerOf(port: number): Promise<string> {
  return new Promise((resolve) => {
    const asked = get({ host: '127.0.0.1', port, agent: false, headers: { host: 'generation' } }, (answer) => {
      void text(answer).then(resolve, () => resolve(''));
    });
    asked.on('error', () => resolve(''));
  });
}

async function programPath(): Promise<string> {
  if (await runs('nginx')) return 'nginx';
  const unpacked = await cacheEntry(
    CACHE,
    `nginx-${process.arch}`,
    (path) => runs(join(path, 'usr/sbin/nginx')),
    (path) => unpackDebianPackages(['nginx'], path),
  );
  return join(unpacked, 'usr/sbin/nginx');
}

function runs(program: string): Promise<boolean> {
  return promisify(execFile)(program, ['-v']).then(
    () => true,
    () => false,
  );
}
