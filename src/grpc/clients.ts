/** Clients of the REST API and their keys. */

import { CLIENT_LIMIT_RANGES, type SearchLimits } from '../engine/domain/search-limits.ts';
import { snakeCase } from '../engine/domain/text.ts';
import * as stored from '../engine/store/clients.ts';
import { readAllSearchTotals, readSearchTotals } from '../engine/store/search-totals.ts';
import { emailAddress, integer } from '../values.ts';
import type { Rpcs } from './call.ts';
import { alreadyExists, invalidArgument, notFound, quoted } from './errors.ts';
import type { ApiKey, Client } from './generated/vigie/admin/v1/clients.ts';
import { apiKeyOfName, clientIdOf, displayNameOf, nameOf, optionalValue, uuidOfName, valueOf } from './names.ts';
import { pageOfList } from './paging.ts';

export const CLIENT_RPCS = {
  async createClient({ client }, { database, isMailAvailable }) {
    if (client === undefined) throw invalidArgument('client', 'must be set');
    const name = displayNameOf('client.display_name', client.displayName);
    try {
      const created = await stored.createClient(database, { name, ...settingsOf(client, SETTINGS) });
      return clientMessage(created, NO_SEARCHES, isMailAvailable);
    } catch (error) {
      if (error instanceof stored.ClientNameTakenError) throw alreadyExists('Client', name, error.message);
      throw error;
    }
  },
  async updateClient({ client, updateMask = [] }, { database, keysChanged, isMailAvailable }) {
    if (client === undefined) throw invalidArgument('client', 'must be set');
    const id = await clientIdOf('client.name', client.name, database);
    // Clients that use JSON write the paths in camel case.
    const paths = updateMask.map(snakeCase);
    const unknown = paths.find((path) => !SETTINGS.some((setting) => snakeCase(setting) === path));
    if (unknown !== undefined)
      throw invalidArgument('update_mask', `must name limits, notice_address or public_name, not ${quoted(unknown)}`);
    const isMeant = (setting: Setting) =>
      paths.length > 0 ? paths.includes(snakeCase(setting)) : client[setting] !== undefined;
    const updated = await stored.updateClientSettings(database, id, settingsOf(client, SETTINGS.filter(isMeant)));
    if (updated === null) throw notFound('Client', client.name);
    keysChanged();
    return clientMessage(updated, await readSearchTotals(database, id), isMailAvailable);
  },
  async listClients(request, { database, isMailAvailable }) {
    const { rows, nextPageToken } = pageOfList(await stored.listClients(database), request, 'clients');
    const totals = await readAllSearchTotals(database);
    const clients = rows.map((client) => clientMessage(client, totals.get(client.id) ?? NO_SEARCHES, isMailAvailable));
    return { clients, nextPageToken };
  },
  async deleteClient({ name }, { database, keysChanged }) {
    const isDeleted = await stored.deleteClient(database, await clientIdOf('name', name, database));
    if (!isDeleted) throw notFound('Client', name);
    keysChanged();
    return {};
  },
  async createApiKey({ parent, displayName }, { database }) {
    const clientId = uuidOfName('parent', 'clients', parent);
    const name = displayName === '' ? 'default' : displayNameOf('display_name', displayName);
    try {
      const { key, apiKey } = await stored.createApiKey(database, clientId, name);
      return { key, apiKey: keyMessage(apiKey) };
    } catch (error) {
      if (error instanceof stored.ClientUnknownError) throw notFound('Client', parent);
      throw error;
    }
  },
  async listApiKeys(request, { database }) {
    const clientId = uuidOfName('parent', 'clients', request.parent);
    const clients = await stored.listClients(database);
    if (!clients.some(({ id }) => id === clientId)) throw notFound('Client', request.parent);
    const { rows, nextPageToken } = pageOfList(await stored.listApiKeys(database, clientId), request, request.parent);
    return { apiKeys: rows.map(keyMessage), nextPageToken };
  },
  async revokeApiKey({ name }, { database, keysChanged }) {
    const { clientId, id } = apiKeyOfName('name', name);
    const isOfClient = (await stored.listApiKeys(database, clientId)).some((key) => key.id === id);
    if (!isOfClient || !(await stored.revokeApiKey(database, id))) throw notFound('ApiKey', name);
    keysChanged();
    return {};
  },
} satisfies Rpcs;

type Limit = keyof stored.ClientLimits;
type Setting = keyof stored.ClientSettings;

const LIMITS = Object.keys(CLIENT_LIMIT_RANGES) as readonly Limit[];
const SETTINGS: readonly Setting[] = [...LIMITS, 'noticeAddress', 'publicName'];
/** E-mail addresses have at most 254 characters (RFC 5321, section 4.5.3.1.3). */
const ADDRESS = emailAddress(254);

const NO_SEARCHES: SearchLimits = { searches: 0, polygonCorners: 0, excludedWords: 0, matchesPerAdvert: 0 };

/** Settings that are absent from the request become null. */
function settingsOf(client: Client, settings: readonly Setting[]): Partial<stored.ClientSettings> {
  const entries = settings.map((setting) => {
    if (setting === 'noticeAddress')
      return [setting, optionalValue('client.notice_address', ADDRESS, client.noticeAddress ?? '')];
    if (setting === 'publicName')
      return [setting, client.publicName?.trim() ? displayNameOf('client.public_name', client.publicName) : null];
    const value = client[setting];
    const { min, max } = CLIENT_LIMIT_RANGES[setting];
    const rule = integer(min, max);
    return [setting, value === undefined ? null : valueOf(`client.${snakeCase(setting)}`, rule, value)];
  });
  return Object.fromEntries(entries);
}

function clientMessage(client: stored.Client, totals: SearchLimits, isMailAvailable: boolean): Client {
  return {
    name: nameOf.client(client.id),
    displayName: client.name,
    ...(Object.fromEntries(LIMITS.map((limit) => [limit, client[limit] ?? undefined])) as Pick<Client, Limit>),
    createTime: client.createdAt,
    noticeAddress: client.noticeAddress ?? undefined,
    publicName: client.publicName ?? undefined,
    noticesUnavailable: client.noticeAddress !== null && !isMailAvailable,
    searchTotals: {
      searchCount: totals.searches,
      polygonCornerCount: totals.polygonCorners,
      excludedWordCount: totals.excludedWords,
      matchesPerAdvert: totals.matchesPerAdvert,
    },
  };
}

function keyMessage(key: stored.ApiKey): ApiKey {
  return {
    name: nameOf.apiKey(key.clientId, key.id),
    displayName: key.name,
    prefix: key.prefix,
    createTime: key.createdAt,
    revokeTime: key.revokedAt ?? undefined,
  };
}
