/**
 * The commands of `vigie admin` that need more than one call or a stream, and all commands of recoveries. `explain`
 * explains one search, or each search of a client that a property satisfies.
 */

import { once } from 'node:events';
import type { JsonObject } from '@bufbuild/protobuf';
import type { ServiceError } from '@grpc/grpc-js';
import { pause } from '../../engine/actor/waiting.ts';
import { flag, type Input, UsageError, valued } from '../command.ts';
import { startProgress } from '../progress.ts';
import { escapedJson, InterruptedError, interruptSignal, print, printable, styled } from '../terminal.ts';
import { type AdminClient, call, callError, follow } from './client.ts';
import { type Command, commandOf } from './command.ts';
import {
  columns,
  idOf,
  listOf,
  printFacts,
  printJson,
  printMore,
  printTable,
  textOf,
  withoutBlanks,
} from './output.ts';
import { fieldsOf, methodNamed, optionsOf, requestOf } from './request.ts';

const FIELDS = fieldsOf(methodNamed('ExplainProperty').input, []);

export const EXPLAIN: Command = {
  words: 'explain',
  args: '[SEARCH] [PROPERTY|URL]',
  summary: 'explains why a property does or does not satisfy a search, and what was sent',
  details:
    'With --client instead of SEARCH, explains every search of the client that the property satisfies. ' +
    'URL is the address of one of the property’s adverts on a portal.',
  options: {
    ...optionsOf(FIELDS),
    client: valued('ID|NAME', 'explain each search of the client that the property satisfies'),
    limit: valued('N', 'with --client, the maximum number of searches; default 20'),
  },
  example: 'vigie admin explain --client Acme https://portal.example/annonce/7',
  run: (client, input) => (input.text('client') === '' ? explainSearch(client, input) : explainToClient(client, input)),
};

async function explainToClient(client: AdminClient, input: Input): Promise<void> {
  if (input.args.length > 1) throw new UsageError('--client replaces SEARCH. Leave SEARCH out.');
  const request = propertyIn(requestOf(FIELDS, input), input.args[0]);
  const { explanationsJson, ...page } = await call(client, 'ExplainProperty', request);
  const explanations = (explanationsJson as string[]).map((text) => JSON.parse(text));
  if (input.isJson) return printJson({ explanations, ...page });
  printFacts({ 'satisfied searches': page.totalSize ?? 0 });
  for (const explanation of explanations) await showExplanation(client, explanation);
  printMore(page);
}

async function explainSearch(client: AdminClient, input: Input): Promise<void> {
  const [search, property] = input.args;
  if (search === undefined) throw new UsageError('Name a SEARCH, or a client with --client.');
  const { pageSize: _size, pageToken: _token, ...named } = requestOf(FIELDS, input);
  const id = search.startsWith('searches/') ? search : `searches/${search}`;
  const request = { ...propertyIn(named, property), search: id };
  const { explanationJson } = await call(client, 'ExplainMatch', request);
  const explanation = JSON.parse(textOf(explanationJson));
  if (input.isJson) printJson(explanation);
  else await showExplanation(client, explanation);
}

/** Unless an option names the property, adds the argument: its id, `adverts/` and an id, or the URL of an advert. */
function propertyIn(request: JsonObject, argument = ''): JsonObject {
  if (request.property || request.advert || request.advertUrl) return request;
  if (argument === '') throw new UsageError('Name the property with PROPERTY|URL, --property, --advert or --url.');
  if (/^https?:\/\//.test(argument)) return { ...request, advertUrl: argument };
  if (argument.startsWith('adverts/')) return { ...request, advert: argument };
  return { ...request, property: argument.startsWith('properties/') ? argument : `properties/${argument}` };
}

const SENT_COLUMNS =
  'DELIVERY=name KIND=kind STATE=state ATTEMPTS=attemptCount ERROR=lastError DUE=dueTime FINISHED=finishTime';

/** Prints an explanation (a document of the REST API), then the newest deliveries of its search and property. */
async function showExplanation(client: AdminClient, explanation: JsonObject): Promise<void> {
  const { search, property, satisfied, criteria, match, matchReasons } = explanation;
  const pair = { search: `searches/${idOf(search)}`, property: `properties/${idOf(property)}` };
  print();
  printFacts({ ...pair, match: match ?? '' });
  print(styled('bold', satisfied === true ? 'satisfied' : 'not satisfied'));
  for (const { criterion, holds, expected, actual, reason } of listOf(criteria)) {
    print(`  ${holds === true ? 'yes' : styled('bold', 'no ')}  ${textOf(criterion)}: ${printable(textOf(reason))}`);
    print(`         expected  ${printable(withoutBlanks(JSON.stringify(expected)))}`);
    print(`         actual    ${printable(withoutBlanks(JSON.stringify(actual)))}`);
  }
  for (const { code, reason } of listOf(matchReasons)) print(printable(`${textOf(code)}: ${textOf(reason)}`));
  if (listOf(explanation.deliveries).length === 0) return;
  const { deliveries } = await call(client, 'ListDeliveries', pair);
  printTable(listOf(deliveries), columns(SENT_COLUMNS));
}

const CHECK_EVERY_MS = 1_000;
const START_FIELDS = fieldsOf(methodNamed('StartRecovery').input, []);
const COLUMNS =
  'RECOVERY=name STATE=state MATCHED=matchedCount DELIVERED=deliveredCount FAILED=failedCount ' +
  'REMAINING=remainingCount SINCE=startTime CREATED=createTime CLIENT=client';

/** Shows the progress of a recovery until it ends. Ctrl-C ends only the display, not the recovery. */
async function followed(client: AdminClient, name: string): Promise<JsonObject> {
  const stopping = interruptSignal();
  const progress = startProgress('counting', 'deliveries');
  let recovery = await call(client, 'GetRecovery', { name });
  try {
    for (; isOpen(recovery); recovery = await call(client, 'GetRecovery', { name })) {
      const { matched, done } = countsOf(recovery);
      if (recovery.state === 'STATE_COUNTING') progress.update({ doing: 'counting', count: matched, share: null });
      else progress.update({ doing: 'resending', count: done, share: matched === 0 ? null : done / matched });
      await pause(CHECK_EVERY_MS, stopping);
      stopping.throwIfAborted();
    }
  } catch (error) {
    if (!stopping.aborted) throw error;
    const { matched, done } = countsOf(recovery);
    const goesOn = `and the recovery continues. See vigie admin recoveries show ${idOf(name)}.`;
    throw new InterruptedError(stopping, `${done} of ${matched} deliveries are done, ${goesOn}`);
  } finally {
    progress.end();
  }
  return recovery;
}

function isOpen({ state }: JsonObject): boolean {
  return state === 'STATE_COUNTING' || state === 'STATE_RUNNING';
}

function countsOf({ matchedCount, remainingCount }: JsonObject) {
  const matched = Number(matchedCount);
  return { matched, done: matched - Number(remainingCount) };
}

function show(recovery: JsonObject, isJson: boolean): void {
  if (isJson) printJson(recovery);
  else printFacts(recovery);
}

const START: Command = {
  words: 'recoveries start',
  summary: 'resends the failed and waiting webhooks of a client that were created since a given time',
  details:
    'Sends webhooks that failed or wait for a retry, oldest first, with their original ids and bytes, at a pace that ' +
    'leaves slots for new ones. The recovery runs in the daemon. A client has at most one at a time. To send an item ' +
    'of an e-mail again, use `deliveries resend`.',
  options: {
    ...optionsOf(START_FIELDS),
    watch: flag('show the progress until the recovery ends'),
  },
  example: 'vigie admin recoveries start --client Acme --since 6h --watch',
  async run(client, input) {
    const request = requestOf(START_FIELDS, input);
    if (request.client === undefined || request.startTime === undefined) {
      throw new UsageError('Name the client and the time with --client and --since.');
    }
    const started = await call(client, 'StartRecovery', request);
    if (request.validateOnly === true) return show(started, input.isJson);
    show(input.flag('watch') ? await followed(client, textOf(started.name)) : started, input.isJson);
  },
};

export const RECOVERY_COMMANDS: readonly Command[] = [
  START,
  commandOf({ words: 'recoveries list', method: 'ListRecoveries', example: '--client Acme', columns: COLUMNS }),
  commandOf({ words: 'recoveries show', method: 'GetRecovery', args: 'ID', example: 'ID' }),
  commandOf({ words: 'recoveries stop', method: 'StopRecovery', args: 'ID', example: 'ID' }),
];

const ACTIVITY_FIELDS = fieldsOf(methodNamed('WatchActivity').input, []);

export const WATCH_ACTIVITY: Command = {
  words: 'watch',
  summary: 'shows changes, matches and attempts as they happen, until Ctrl-C',
  details: 'This is not a log: if the reader is slow, activities are skipped and counted.',
  options: optionsOf(ACTIVITY_FIELDS),
  example: 'vigie admin watch --failures --json | jq .attempt.error',
  async run(client, input) {
    const stream = follow(client, 'WatchActivity', requestOf(ACTIVITY_FIELDS, input));
    let isInterrupted = false;
    process.once('SIGINT', () => {
      isInterrupted = true;
      stream.cancel();
    });
    try {
      for await (const activity of stream as AsyncIterable<JsonObject>) {
        const line = input.isJson ? escapedJson(JSON.stringify(activity)) : printable(describe(activity));
        if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
      }
    } catch (error) {
      if (!isInterrupted) throw callError(client, error as ServiceError);
    }
  },
};

function describe({ time, skippedCount, ...fact }: JsonObject): string {
  const skipped = Number(skippedCount) > 0 ? `(${textOf(skippedCount)} skipped) ` : '';
  return `${textOf(time)}  ${skipped}${describeFact(fact)}`;
}

type Texts = Readonly<Record<string, string | number>>;

function describeFact({ change, match, attempt }: JsonObject): string {
  if (change !== undefined) {
    const { property, kind, field, oldValue, newValue } = change as Texts;
    return `change   ${property}  ${kind}${field === '' ? '' : `  ${field} ${oldValue} → ${newValue}`}`;
  }
  if (match !== undefined) {
    const { search, property } = match as Texts;
    return `match    ${search}  ${property}`;
  }
  if (attempt === undefined) return 'an activity that this version cannot show';
  const { delivery, endpoint, number, error, statusCode, durationMs, state } = attempt as Texts;
  const end = error === '' ? statusCode : `${error} ${statusCode || ''}`.trim();
  return `attempt  ${delivery}  ${endpoint}  #${number} ${end}  ${durationMs} ms  ${state}`;
}
