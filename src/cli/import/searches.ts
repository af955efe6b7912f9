/**
 * `vigie import searches` creates a client's searches from answers to `GET /searches` of a service with the same API.
 * If the client already has a search with the same members, none is created, so that a repeated import changes nothing.
 */

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { loadReference } from '../../engine/reference/communes.ts';
import { type Client, createClient, findClientByName } from '../../engine/store/clients.ts';
import type { Database } from '../../engine/store/database.ts';
import { listSearches, readSearchesOf } from '../../engine/store/search-listing.ts';
import { createSearch } from '../../engine/store/searches.ts';
import { FEATURES } from '../../features.ts';
import { Problem, type Violation } from '../../rest/problem.ts';
import { type InputRules, readNewSearch } from '../../rest/search-input.ts';
import { inputRules, limitsOf, refuseBeyond } from '../../rest/searches.ts';
import { CommandError, cannotRead, print, printable } from '../terminal.ts';

type Document = Readonly<Record<string, unknown>>;

const NOT_TAKEN = 2;
const PAGE = 100;
/**
 * Members that are omitted if they are invalid, because the search finds the same without them. With any other invalid
 * member no search is created, because it could find too much. Unknown members are omitted if the operator names them.
 */
const DISPENSABLE = [
  'publicTitle',
  'endpointRecipient',
  'eventEndpoint',
  'subscribedEvents',
  'notificationRecipient',
  'notificationConsent',
  'notificationReplyTo',
  'context',
];

/** Sets the exit code to 2 if anything could not be imported. Throws `CommandError` if the file has no searches. */
export async function importSearches(
  database: Database,
  path: string,
  clientName: string,
  config: Config,
  ignored: readonly string[],
  stopping: AbortSignal,
): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error) => Promise.reject(cannotRead(path, error)));
  const documents = parsed(text).flatMap(searchesIn);
  if (documents.length === 0)
    throw new CommandError(`${path} contains no searches. Name a file with answers to GET /searches, as JSON.`);
  const client = (await findClientByName(database, clientName)) ?? (await createClient(database, { name: clientName }));
  const sources = { database, reference: await loadReference(), settings: config };
  const rules = inputRules(config.api.publicUrl ?? '', sources);
  const stored = await readStoredMembers(database, client);
  const estimate = await FEATURES.find((feature) => feature.estimate)?.estimate?.(database)();
  const counts = { created: 0, present: 0, refused: 0, lines: 0, matchesPerMille: 0 };
  const report = (line: string): void => {
    counts.lines += 1;
    print(printable(line));
  };
  for (const document of documents) {
    if (stopping.aborted) break;
    const members = await membersOf(document, rules, ignored, report);
    const same = members === null ? -1 : stored.findIndex((each) => isDeepStrictEqual(each, members));
    const matchesPerMille = members === null || same >= 0 ? 0 : ((await estimate?.(members)) ?? 0);
    if (members === null) counts.refused += 1;
    else if (same >= 0) {
      stored.splice(same, 1);
      counts.present += 1;
    } else if (await create(database, client, members, matchesPerMille, config, report)) {
      counts.created += 1;
      counts.matchesPerMille += matchesPerMille;
    } else counts.refused += 1;
  }
  print(
    `${client.name}: ${counts.created} searches created, ${counts.present} already existed, ${counts.refused} refused.`,
  );
  // An empty database gives no estimate.
  if (counts.matchesPerMille > 0)
    print(`The new searches add an estimated ${counts.matchesPerMille / 1_000} matches per advert in total.`);
  if (counts.lines > 0) process.exitCode = NOT_TAKEN;
}

/** A page, a list of pages, or one page per line. */
function parsed(text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (cause) {
    try {
      return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line) as unknown]));
    } catch {
      throw new CommandError(`The file is not JSON (${(cause as Error).message}). Correct it.`, { cause });
    }
  }
}

function searchesIn(value: unknown): readonly Document[] {
  if (Array.isArray(value)) return value.flatMap(searchesIn);
  if (typeof value !== 'object' || value === null) return [];
  const page = value as Document;
  const members = page['hydra:member'] ?? page.member;
  if (Array.isArray(members)) return members.flatMap(searchesIn);
  return 'title' in page ? [page] : [];
}

/** Null if the search cannot be imported. */
async function membersOf(
  document: Document,
  rules: InputRules,
  ignored: readonly string[],
  report: (line: string) => void,
): Promise<SearchMembers | null> {
  const title = String(document.title);
  try {
    return await readNewSearch(document, rules);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const isLess = ({ code, propertyPath }: Violation) =>
      DISPENSABLE.includes(rootOf(propertyPath)) || (code === 'unknown_member' && ignored.includes(propertyPath));
    const { violations } = error;
    const grave = violations.filter((violation) => !isLess(violation));
    for (const { code, propertyPath, message } of grave) {
      const isMember = code === 'unknown_member' && propertyPath === rootOf(propertyPath);
      const way = isMember ? `. To create the search without it, add --ignore ${propertyPath}.` : '.';
      report(`Refused: ${title}: ${propertyPath} ${message.en}${way}`);
    }
    if (grave.length > 0 || violations.length === 0) return null;
    for (const { propertyPath, message } of violations) report(`Left out: ${title}: ${propertyPath} ${message.en}.`);
    const atFault = new Set(violations.map(({ propertyPath }) => rootOf(propertyPath)));
    const rest = Object.entries(document).filter(([name]) => !atFault.has(rootOf(name)));
    return membersOf(Object.fromEntries(rest), rules, ignored, report);
  }
}

/** The first member of a path, shortened like the paths of violations. */
function rootOf(path: string): string {
  return (path.split(/[.[]/, 1)[0] as string).slice(0, 60);
}

async function readStoredMembers(database: Database, { id }: Client): Promise<SearchMembers[]> {
  const all: SearchMembers[] = [];
  for (let offset = 0, total = 1; offset < total; offset += PAGE) {
    const order = { order: 'creation', direction: 'asc', offset, limit: PAGE } as const;
    const page = await listSearches(database, id, { title: null, notificationEnabled: null, ...order });
    ({ total } = page);
    for await (const { members } of readSearchesOf(database, id, page.numbers)) all.push(members);
  }
  return all;
}

async function create(
  database: Database,
  client: Client,
  members: SearchMembers,
  matchesPerMille: number,
  { searchLimits }: Config,
  report: (line: string) => void,
): Promise<boolean> {
  const limits = limitsOf(client, searchLimits);
  try {
    await createSearch(database, client.id, members, { limits, matchesPerMille }).catch(refuseBeyond);
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    report(`Refused: ${members.title}: ${error.detail.en}`);
    return false;
  }
}
