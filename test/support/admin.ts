/** A generic gRPC client that knows nothing of the interface but what reflection tells it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ADMIN_TOKEN, type Daemon } from './daemon.ts';

const BUF = fileURLToPath(new URL('../../node_modules/.bin/buf', import.meta.url));
const SERVICE = 'vigie.admin.v1.AdminService';

export interface GenericAnswer {
  /** Null when the call succeeded. */
  readonly code: string | null;
  readonly message: string;
  /** Types of the details. */
  readonly details: readonly string[];
  /** Whatever reflection made of it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a generic client has no types
  readonly body: any;
}

export interface GenericOptions {
  readonly token?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly service?: string;
}

/** Calls `method` with `request` in protobuf's JSON; several requests make a client stream. */
export async function genericCall(
  { adminAddress }: Pick<Daemon, 'adminAddress'>,
  method: string,
  request: unknown = {},
  { token = ADMIN_TOKEN, timeout, service = SERVICE }: GenericOptions = {},
): Promise<GenericAnswer> {
  const args = [
    'curl',
    ...['--http2-prior-knowledge', '--protocol', 'grpc'],
    ...['--reflect-header', `authorization: Bearer ${ADMIN_TOKEN}`, '--header', `authorization: Bearer ${token}`],
    ...(timeout === undefined ? [] : ['--timeout', `${timeout}s`]),
    ...['--data', '@-', `http://${adminAddress}/${service}/${method}`],
  ];
  const child = spawn(BUF, args, { stdio: 'pipe' });
  const requests = Array.isArray(request) ? request : [request];
  child.stdin.end(requests.map((each) => JSON.stringify(each)).join('\n'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (stderr.trim() !== '') {
    const failure = JSON.parse(stderr) as { code: string; message: string; details?: { type: string }[] };
    const details = (failure.details ?? []).map(({ type }) => type.replace('google.rpc.', ''));
    return { code: failure.code, message: failure.message, details, body: null };
  }
  return { code: null, message: '', details: [], body: JSON.parse(stdout || '{}') };
}
