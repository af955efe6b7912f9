/**
 * The administration interface without a daemon: a server with a test's dependencies, and clients that have the token.
 */

import { type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';
import type { AdminDependencies } from '../../src/grpc/dependencies.ts';
import { type AdminServer, type AdminServerSettings, startAdminServer } from '../../src/grpc/server.ts';
import { AdminStub } from './admin.ts';
import type { Cleanup } from './servers.ts';

const TOKEN = 'token-of-this-test';
export const AUTHORIZATION = `Bearer ${TOKEN}`;

export interface AdminClient {
  readonly stub: AdminStub;
  readonly metadata: Metadata;
}

export interface AdminScene {
  readonly server: AdminServer;
  /** Connects in plaintext by default. The client ends before the server, because the server would wait for it. */
  connect(channel?: ChannelCredentials): AdminClient;
}

/** `dependencies`: those that the calls of the test need. */
export async function startAdmin(
  t: Cleanup,
  dependencies: Partial<Omit<AdminDependencies, 'logger'>> = {},
  settings: Partial<AdminServerSettings> = {},
): Promise<AdminScene> {
  const logger = { debug: () => undefined, info: () => undefined, error: () => undefined };
  const plain = { host: '127.0.0.1', port: 0, token: TOKEN, certificate: null, privateKey: null };
  const server = await startAdminServer({ ...plain, clientAuthorities: null, ...settings }, {
    ...{ logger, onCall: () => undefined },
    ...dependencies,
  } as unknown as AdminDependencies);
  const stubs: AdminStub[] = [];
  t.after(async () => {
    for (const stub of stubs) stub.close();
    await server.stop();
  });
  const connect = (channel = credentials.createInsecure()): AdminClient => {
    const stub = new AdminStub(server.address, channel);
    stubs.push(stub);
    const metadata = new Metadata();
    metadata.set('authorization', AUTHORIZATION);
    return { stub, metadata };
  };
  return { server, connect };
}
