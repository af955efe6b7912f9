/** Clients of the REST API and their keys. */

import {
  type ApiKey as ApiKeyRow,
  ClientNameTakenError,
  type Client as ClientRow,
  ClientUnknownError,
  createClient as createClientRow,
  createApiKey as createKeyRow,
  deleteClient as deleteClientRow,
  listClients as listClientRows,
  listApiKeys as listKeyRows,
  revokeApiKey as revokeKeyRow,
} from '../store/clients.ts';
import type { AdminDependencies } from './dependencies.ts';
import { alreadyExists, invalidArgument, notFound } from './errors.ts';
import { displayNameOf } from './fields.ts';
import type {
  ApiKey,
  Client,
  CreateApiKeyRequest,
  CreateApiKeyResponse,
  CreateClientRequest,
  ListApiKeysRequest,
  ListApiKeysResponse,
  ListClientsRequest,
  ListClientsResponse,
} from './generated/vigie/admin/v1/clients.ts';
import { apiKeyOfName, nameOf, uuidOfName } from './names.ts';
import { pageOfList } from './paging.ts';

export async function createClient({ client }: CreateClientRequest, { database }: AdminDependencies): Promise<Client> {
  if (client === undefined) throw invalidArgument('client', 'must be set');
  const name = displayNameOf('client.display_name', client.displayName);
  try {
    const created = await createClientRow(database, {
      name,
      rateLimitPerSecond: limitOf('client.rate_limit_per_second', client.rateLimitPerSecond),
      rateLimitBurst: limitOf('client.rate_limit_burst', client.rateLimitBurst),
    });
    return clientMessage(created);
  } catch (error) {
    if (error instanceof ClientNameTakenError) throw alreadyExists('Client', name, error.message);
    throw error;
  }
}

export async function listClients(
  request: ListClientsRequest,
  { database }: AdminDependencies,
): Promise<ListClientsResponse> {
  const { rows, nextPageToken } = pageOfList(await listClientRows(database), request, 'clients');
  return { clients: rows.map(clientMessage), nextPageToken };
}

export async function deleteClient(name: string, { database }: AdminDependencies): Promise<Record<string, never>> {
  if (!(await deleteClientRow(database, uuidOfName('name', 'clients', name)))) throw notFound('Client', name);
  return {};
}

export async function createApiKey(
  { parent, displayName }: CreateApiKeyRequest,
  { database }: AdminDependencies,
): Promise<CreateApiKeyResponse> {
  const clientId = uuidOfName('parent', 'clients', parent);
  const name = displayName === '' ? 'default' : displayNameOf('display_name', displayName);
  try {
    const { key, apiKey } = await createKeyRow(database, clientId, name);
    return { key, apiKey: keyMessage(apiKey) };
  } catch (error) {
    if (error instanceof ClientUnknownError) throw notFound('Client', parent);
    throw error;
  }
}

export async function listApiKeys(
  request: ListApiKeysRequest,
  { database }: AdminDependencies,
): Promise<ListApiKeysResponse> {
  const clientId = uuidOfName('parent', 'clients', request.parent);
  const clients = await listClientRows(database);
  if (!clients.some(({ id }) => id === clientId)) throw notFound('Client', request.parent);
  const { rows, nextPageToken } = pageOfList(await listKeyRows(database, clientId), request, request.parent);
  return { apiKeys: rows.map(keyMessage), nextPageToken };
}

export async function revokeApiKey(name: string, { database }: AdminDependencies): Promise<Record<string, never>> {
  const { clientId, id } = apiKeyOfName('name', name);
  const isOfClient = (await listKeyRows(database, clientId)).some((key) => key.id === id);
  if (!isOfClient || !(await revokeKeyRow(database, id))) throw notFound('ApiKey', name);
  return {};
}

function limitOf(field: string, limit: number | undefined): number | null {
  if (limit === undefined) return null;
  if (limit < 1 || limit > 1_000_000) throw invalidArgument(field, 'must be 1 to 1000000');
  return limit;
}

function clientMessage(client: ClientRow): Client {
  return {
    name: nameOf.client(client.id),
    displayName: client.name,
    rateLimitPerSecond: client.rateLimitPerSecond ?? undefined,
    rateLimitBurst: client.rateLimitBurst ?? undefined,
    createTime: client.createdAt,
  };
}

function keyMessage(key: ApiKeyRow): ApiKey {
  return {
    name: nameOf.apiKey(key.clientId, key.id),
    displayName: key.name,
    prefix: key.prefix,
    createTime: key.createdAt,
    revokeTime: key.revokedAt ?? undefined,
  };
}
