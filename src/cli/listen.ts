/** `vigie listen`: posts a client's feed to a program on this machine, in the form of webhooks and signed like them. */

import type { Config } from '../config.ts';
import { pause } from '../engine/actor/waiting.ts';
import { signatureHeaders } from '../engine/delivery/signature.ts';
import { VERSION } from '../version.ts';
import { UsageError } from './command.ts';
import { CommandError, print, reasonOf } from './terminal.ts';

export interface ListenOptions {
  readonly target: string;
  /** Empty: the configured address. */
  readonly apiUrl: string;
  readonly key: string;
  /** Empty: the feed of all searches. */
  readonly search: string;
  /** Signs beside the token of the search; empty: none. */
  readonly secret: string;
  /** Undefined: from now on. */
  readonly since: Date | undefined;
}

interface FeedItem {
  readonly cursor: string;
  readonly id: string;
  readonly sequence: number;
  readonly search: string;
  readonly channel: string;
  readonly createdAt: string;
  readonly body: { readonly event?: string } | null;
}

type Api = (path: string) => Promise<{ readonly status: number; readonly text: string }>;

const TRY_AGAIN_MS = 2_000;
const TARGET_TIMEOUT_MS = 15_000;

/** Until `stopping`. Throws `CommandError` when the API refuses the key or the search. */
export async function listen(config: Config, options: ListenOptions, stopping: AbortSignal): Promise<void> {
  const { target, key, since, search } = options;
  if (!URL.canParse(target)) throw new UsageError('listen needs --forward URL');
  if (key === '') throw new UsageError('listen needs --key KEY; `vigie keys create` makes one');
  const { host, port } = config.api;
  const base = options.apiUrl || `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const api: Api = async (path) => {
    const answer = await fetch(`${base.replace(/\/$/, '')}${path}`, {
      headers: { 'X-API-KEY': key },
      signal: stopping,
    });
    return { status: answer.status, text: await answer.text() };
  };
  const tokens = new Map<string, string>();
  let after = since === undefined ? 'latest' : '';
  let isSilent = false;
  while (!stopping.aborted) {
    const query = new URLSearchParams({ wait: '30', ...(after && { after }), ...(search && { search }) });
    try {
      const { status, text } = await api(`/feed?${query}`);
      if (isSilent) process.stderr.write('vigie: the service answers again\n');
      isSilent = false;
      if (status === 200) {
        for (const [item, body] of itemsOf(text)) {
          if (stopping.aborted) return;
          if (since === undefined || new Date(item.createdAt) >= since) await forward(item, body, api, tokens, options);
          after = item.cursor;
        }
        after = (JSON.parse(text) as { next: string }).next;
      } else if (status === 410) after = (JSON.parse(text) as { oldest: string }).oldest;
      else if (status < 500 && status !== 429)
        throw new CommandError(`GET /feed answered ${status}: ${detailOf(text)}`);
      else await pause(TRY_AGAIN_MS, stopping);
    } catch (error) {
      if (stopping.aborted) return;
      if (error instanceof CommandError || !(error instanceof TypeError)) throw error;
      if (!isSilent) process.stderr.write(`vigie: ${base} does not answer (${failureOf(error)}); trying again\n`);
      isSilent = true;
      await pause(TRY_AGAIN_MS, stopping);
    }
  }
}

async function forward(
  item: FeedItem,
  body: string,
  api: Api,
  tokens: Map<string, string>,
  { target, secret }: ListenOptions,
): Promise<void> {
  const what = `${item.createdAt}  ${item.body?.event ?? item.channel}  ${item.id}`;
  if (item.body === null) return print(`${what}  withheld: its search hides contacts now`);
  const token = tokens.get(item.search) ?? (await tokenOf(item.search, api));
  if (token === null && secret === '') return print(`${what}  not sent: its search is deleted, and no --secret given`);
  if (token !== null) tokens.set(item.search, token);
  const startedAt = performance.now();
  const keys = [secret, token ?? ''].filter((each) => each !== '');
  const answered = await fetch(target, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(TARGET_TIMEOUT_MS),
    headers: {
      'content-type': 'application/json',
      'user-agent': `Vigie/${VERSION}`,
      'vigie-sequence': String(item.sequence),
      ...signatureHeaders(item.id, new Date(), body, ...keys),
    },
    body,
  }).then(
    async (response) => {
      await response.body?.cancel();
      return String(response.status);
    },
    (error: Error) => `no answer: ${failureOf(error)}`,
  );
  print(`${what}  ${answered}  ${Math.round(performance.now() - startedAt)} ms`);
}

/** Null when the search is deleted. */
async function tokenOf(search: string, api: Api): Promise<string | null> {
  const { status, text } = await api(search);
  return status === 200 ? (JSON.parse(text) as { token: string }).token : null;
}

/** With each item its body byte for byte: `items` is the list of the document, `body` the last member of an item. */
function* itemsOf(text: string): Generator<readonly [FeedItem, string]> {
  const { items } = JSON.parse(text) as { items: readonly FeedItem[] };
  const list = text.indexOf('"items":[') + '"items":['.length;
  const spans = objectsIn(text, list);
  for (const item of items) {
    const [start, end] = spans.next().value as readonly [number, number];
    const own = text.slice(start, end);
    // `feedItemJson` writes the members before it; the client's context may contain any names.
    const member = `"createdAt":${JSON.stringify(item.createdAt)},"body":`;
    yield [item, own.slice(own.indexOf(member) + member.length, -1)];
  }
}

/** Where each object of a list begins and ends. */
function* objectsIn(text: string, from: number): Generator<readonly [number, number]> {
  let depth = 0;
  let start = from;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') {
      at += 1;
      while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    } else if (sign === '{') {
      if (depth === 0) start = at;
      depth += 1;
    } else if (sign === '}') {
      depth -= 1;
      if (depth === 0) yield [start, at + 1];
    } else if (sign === ']' && depth === 0) return;
  }
}

function failureOf(error: Error): string {
  return reasonOf((error.cause as Error | undefined) ?? error);
}

function detailOf(text: string): string {
  try {
    return String((JSON.parse(text) as { detail?: unknown }).detail);
  } catch {
    return text.slice(0, 200);
  }
}
