/**
 * Connects `vigie admin` to a daemon. Flags, settings or the data directory give the address, certificates and token.
 * Like the daemon, the command uses plaintext only on the loopback interface.
 */

import { readFile } from 'node:fs/promises';
import { fromBinary, fromJson, type JsonObject, toBinary, toJson } from '@bufbuild/protobuf';
import { ChannelCredentials, Client, experimental, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Config } from '../../config.ts';
import { isLoopback } from '../../config-conflicts.ts';
import { dataDirectoryPath, readToken } from '../../local/data-directory.ts';
import { CommandError, cannotRead } from '../terminal.ts';
import { methodNamed, pathOf, registry } from './request.ts';

type FlagName = 'address' | 'ca' | 'cert' | 'key' | 'token-file' | 'timeout';
/** `timeout`: time limit of a call in seconds. */
export type ConnectionFlags = Readonly<Record<FlagName, string | undefined>>;

export type AdminClient = Awaited<ReturnType<typeof connectAdmin>>;

/** Exit codes by gRPC status; 1 for any other status. */
const EXIT_CODES: Readonly<Partial<Record<status, number>>> = {
  [status.INVALID_ARGUMENT]: 2,
  [status.NOT_FOUND]: 3,
  [status.UNAUTHENTICATED]: 4,
  [status.UNAVAILABLE]: 5,
  [status.FAILED_PRECONDITION]: 6,
  [status.ALREADY_EXISTS]: 6,
  [status.DEADLINE_EXCEEDED]: 7,
};

/** A failed call. If a daemon answered, its message is the daemon's, except for a refused token. */
export class AdminCallError extends CommandError {
  override readonly exitCode: number;

  constructor(error: ServiceError, target: string) {
    super(wordsOf(error, target.replace(/^dns:/, '')));
    this.exitCode = EXIT_CODES[error.code] ?? 1;
  }
}

function wordsOf({ code, details, metadata }: ServiceError, address: string): string {
  if (code === status.UNAUTHENTICATED) {
    return `${address} refuses the token. Check --token-file and VIGIE_ADMIN_TOKEN.`;
  }
  // A running daemon sends details. grpc-js creates errors without details, and with messages for programmers.
  if (metadata.get('grpc-status-details-bin').length > 0) return details;
  if (code === status.UNAVAILABLE) {
    const [, reason = details] =
      /Last error: (?:Error: )?([^]*?)(?: \([^()]*\))?(?:\. Resolution note:[^]*)?$/.exec(details) ?? [];
    return `No daemon answers at ${address} (${reason.replaceAll(/\s+/g, ' ')}). Start one, or correct --address.`;
  }
  return `${status[code].toLowerCase().replaceAll('_', ' ')}: ${details}`;
}

const SECOND_MS = 1_000;

/** Throws `CommandError` if a file cannot be read, or plaintext would leave the loopback interface. */
export async function connectAdmin(config: Config, flags: ConnectionFlags) {
  const address = flags.address ?? addressOf(config);
  const authority = flags.ca ?? config.admin.certificate;
  if (authority === null && !isLoopback(hostOf(address))) throw new CommandError(wordsInClear(address));
  const metadata = new Metadata();
  const token = await tokenOf(config, flags['token-file']);
  if (token !== null) metadata.set('authorization', `Bearer ${token}`);
  const channel = new Client(address, await credentialsOf(authority, flags), {
    // A proxy from the environment could read plaintext; with TLS it can only relay.
    'grpc.enable_http_proxy': authority === null ? 0 : 1,
  });
  const timeoutMs = flags.timeout === undefined ? null : Number(flags.timeout) * SECOND_MS;
  return { channel, metadata, options: () => (timeoutMs === null ? {} : { deadline: Date.now() + timeoutMs }) };
}

/**
 * Calls a method. The request and the answer are protobuf JSON; the answer includes default values. Rejects with
 * `AdminCallError`.
 */
export function call(client: AdminClient, name: string, request: JsonObject): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    client.channel.makeUnaryRequest(...argumentsOf(client, name, request), (error, response) => {
      if (error !== null) reject(callError(client, error));
      else resolve(response ?? {});
    });
  });
}

/** Calls a method that answers with a stream. */
export function follow(client: AdminClient, name: string, request: JsonObject) {
  return client.channel.makeServerStreamRequest(...argumentsOf(client, name, request));
}

function argumentsOf({ metadata, options }: AdminClient, name: string, request: JsonObject) {
  const { input, output, ...method } = methodNamed(name);
  return [
    pathOf(method),
    (value: JsonObject) => Buffer.from(toBinary(input, fromJson(input, value, { registry }))),
    (bytes: Buffer) => toJson(output, fromBinary(output, bytes), { registry, alwaysEmitImplicit: true }) as JsonObject,
    request,
    metadata,
    options(),
  ] as const;
}

export function callError({ channel }: AdminClient, error: ServiceError): AdminCallError {
  return new AdminCallError(error, channel.getChannel().getTarget());
}

function addressOf({ admin: { host, port } }: Config): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The host of `host:port`, as grpc-js parses it. Empty for other targets, e.g. several hosts or another resolver. */
function hostOf(address: string): string {
  const [, path = ''] = /^(?:dns:(?:\/{3})?)?([^/,]+)$/.exec(address) ?? [];
  return experimental.splitHostPort(path)?.host ?? '';
}

function wordsInClear(address: string): string {
  return (
    `The token would be sent to ${address} in plaintext, which is allowed only on loopback. Give the daemon a ` +
    'certificate (VIGIE_ADMIN_TLS_CERT, VIGIE_ADMIN_TLS_KEY) and name its authority with --ca FILE, or forward its ' +
    'port: ssh -L 9465:127.0.0.1:9465 HOST'
  );
}

async function tokenOf(config: Config, file: string | undefined): Promise<string | null> {
  if (file !== undefined) return (await read(file)).toString('utf8').trim();
  return config.admin.token ?? readToken(dataDirectoryPath(config.dataDir));
}

/** Uses TLS if `--ca`, or else VIGIE_ADMIN_TLS_CERT, names the certificates to trust. */
async function credentialsOf(authority: string | null, flags: ConnectionFlags): Promise<ChannelCredentials> {
  if (authority === null) return ChannelCredentials.createInsecure();
  if (flags.cert === undefined || flags.key === undefined) return ChannelCredentials.createSsl(await read(authority));
  return ChannelCredentials.createSsl(await read(authority), await read(flags.key), await read(flags.cert));
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw cannotRead(path, error);
  }
}
