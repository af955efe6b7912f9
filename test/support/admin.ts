/** Clients of the administration interface that encode requests by its protobuf descriptors, without generated code. */

import { type DescService, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ClientWritableStream,
  credentials,
  Metadata,
  makeClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { registry } from '../../src/cli/admin/request.ts';
import { Status } from '../../src/grpc/generated/google/rpc/status.ts';
import { ADMIN_TOKEN, type Daemon } from './daemon.ts';

const SERVICE = 'vigie.admin.v1.AdminService';
const { methods } = registry.getService(SERVICE) as DescService;

export interface GenericAnswer {
  /** Null if the call succeeded. */
  readonly code: string | null;
  readonly message: string;
  /** Type names of the details. */
  readonly details: readonly string[];
  /** The message in protobuf's JSON; for a stream, its last message. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a generic client has no types
  readonly body: any;
  /** Size of the encoded message and details. */
  readonly trailerBytes: number;
}

export interface GenericOptions {
  readonly token?: string;
  /** In seconds. */
  readonly timeout?: number;
}

/** Calls `method` with `request`, as bytes or in protobuf's JSON; several requests make a client stream. */
export async function genericCall(
  { adminAddress }: Pick<Daemon, 'adminAddress'>,
  method: string,
  request: unknown = {},
  { token = ADMIN_TOKEN, timeout }: GenericOptions = {},
): Promise<GenericAnswer> {
  const client = new Client(adminAddress, credentials.createInsecure());
  try {
    const desc = methods.find(({ name }) => name === method);
    if (desc === undefined) throw new Error(`${SERVICE} has no method ${method}`);
    const requests = (Array.isArray(request) ? request : [request]).map((each) =>
      // JSON leaves out members that are undefined.
      each instanceof Uint8Array
        ? each
        : toBinary(desc.input, fromJson(desc.input, JSON.parse(JSON.stringify(each)) as JsonValue)),
    );
    const { answers, error } = await send(client, `/${SERVICE}/${method}`, requests, token, timeout);
    if (error !== null) return failureOf(error);
    const last = answers.at(-1);
    const body = last === undefined ? {} : toJson(desc.output, fromBinary(desc.output, last));
    return { code: null, message: '', details: [], body, trailerBytes: 0 };
  } finally {
    client.close();
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- protobuf's JSON
type Answered = (error: ServiceError | null, answer: any) => void;

interface Unary {
  (request: unknown, metadata: Metadata, answered: Answered): ClientUnaryCall;
  (request: unknown, metadata: Metadata, options: CallOptions, answered: Answered): ClientUnaryCall;
}

/** In protobuf's JSON: exactly one of the facts is present, and a count of 0 is left out. */
export interface WatchedActivity {
  readonly skippedCount?: number;
  readonly change?: { readonly property: string; readonly newValue: string };
  readonly match?: { readonly search: string };
  readonly attempt?: { readonly state: string };
}

export function factOf(activity: WatchedActivity): string {
  return Object.keys(activity).find((member) => ['change', 'match', 'attempt'].includes(member)) ?? '';
}

/** For calls that `genericCall` cannot make: several on one connection, without a deadline, cancelled, interrupted. */
export interface AdminStub extends Client {
  readonly getDelivery: Unary;
  readonly getStatus: Unary;
  readonly listClients: Unary;
  readonly listDeadLetters: Unary;
  importPointsOfInterest(metadata: Metadata, answered: Answered): ClientWritableStream<unknown>;
  watchActivity(request: unknown, metadata: Metadata): ClientReadableStream<WatchedActivity>;
}

export const AdminStub = makeClientConstructor(
  Object.fromEntries(
    methods.map(({ name, localName, methodKind, input, output }) => [
      localName,
      {
        path: `/${SERVICE}/${name}`,
        requestStream: methodKind === 'client_streaming',
        responseStream: methodKind === 'server_streaming',
        // JSON leaves out members that are undefined.
        requestSerialize: (request: unknown) =>
          Buffer.from(toBinary(input, fromJson(input, JSON.parse(JSON.stringify(request)) as JsonValue))),
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => toJson(output, fromBinary(output, bytes), { registry }),
      },
    ]),
  ),
  SERVICE,
) as unknown as new (
  address: string,
  channel: ChannelCredentials,
) => AdminStub;

function failureOf({ code, details: message, metadata }: ServiceError): GenericAnswer {
  const [encoded] = metadata.get('grpc-status-details-bin');
  const details = encoded === undefined ? [] : Status.decode(encoded as Buffer).details;
  return {
    code: status[code].toLowerCase(),
    message,
    details: details.map(({ typeUrl }) => typeUrl.replace(/^.*\/google\.rpc\./, '')),
    body: null,
    trailerBytes:
      encodeURIComponent(message).length + String((encoded as Buffer | undefined)?.toString('base64')).length,
  };
}

/** Sends any call as a bidirectional stream, because all calls have this form on the wire. */
function send(
  client: Client,
  path: string,
  requests: readonly Uint8Array[],
  token: string,
  timeout = 60,
): Promise<{ readonly answers: readonly Uint8Array[]; readonly error: ServiceError | null }> {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const pass = (bytes: Uint8Array) => Buffer.from(bytes);
  const deadline = Date.now() + timeout * 1_000;
  return new Promise((resolve) => {
    const answers: Uint8Array[] = [];
    const call = client.makeBidiStreamRequest(path, pass, pass, metadata, { deadline });
    call.on('data', (bytes: Uint8Array) => answers.push(bytes));
    call.on('end', () => resolve({ answers, error: null }));
    call.on('error', (error: ServiceError) => resolve({ answers, error }));
    for (const request of requests) call.write(request);
    call.end();
  });
}
