/** `vigie admin explain`: of one search, or of all searches of a client that a property satisfies or narrowly fails. */

import { ExplainMatchResponse, ExplainPropertyResponse } from '../../admin/generated/vigie/admin/v1/matching.ts';
import { print, styled } from '../terminal.ts';
import { type AdminClient, call } from './client.ts';
import {
  type Command,
  clientNamed,
  type Input,
  named,
  PAGE,
  PROPERTY,
  propertyNamed,
  UsageError,
  valued,
} from './command.ts';
import { printFacts, printJson, withoutBlanks } from './output.ts';

function showExplanation(explained: ExplainMatchResponse): void {
  print(styled('bold', explained.satisfied ? 'satisfied' : 'not satisfied'));
  for (const { criterion, holds, expected, actual } of explained.verdicts) {
    print(`  ${holds ? 'yes' : styled('bold', 'no ')}  ${criterion}`);
    print(`         asked  ${withoutBlanks(expected)}`);
    print(`         found  ${withoutBlanks(actual)}`);
  }
  print();
  const { match, beginTime, updateTime } = explained.pair ?? {};
  printFacts({ match, began: beginTime, updated: updateTime });
  for (const { delivery, explanation } of explained.deliveries) {
    print(`${delivery?.name ?? ''}  ${delivery?.kind ?? ''}\n  ${explanation}`);
  }
  for (const note of explained.notes) print(`note: ${note}`);
}

function showAll({ property, explanations, totalSize, nextPageToken }: ExplainPropertyResponse): void {
  printFacts({ property, 'searches that it satisfies, or fails by one criterion': totalSize });
  for (const explained of explanations) {
    print();
    printFacts({ search: explained.search, title: explained.searchTitle });
    showExplanation(explained);
  }
  if (nextPageToken !== '') print(`\nmore: --page-token ${nextPageToken}`);
}

async function explainToClient(client: AdminClient, input: Input): Promise<void> {
  const { args, text, whole, isJson } = input;
  if (args.length > 1) throw new UsageError('--client stands in the place of SEARCH');
  const request = {
    client: clientNamed(text('client')),
    ...demandProperty(input, args[0]),
    pageSize: whole('limit'),
    pageToken: text('page-token'),
  };
  const explained = await call(client, client.stub.explainProperty, request);
  if (isJson) printJson(ExplainPropertyResponse.toJSON(explained));
  else showAll(explained);
}

async function explainSearch(client: AdminClient, input: Input): Promise<void> {
  const [search, property] = input.args;
  if (search === undefined) throw new UsageError('name a SEARCH, or a client by --client');
  const request = { search: named('searches', search), ...demandProperty(input, property) };
  const explained = await call(client, client.stub.explainMatch, request);
  if (input.isJson) printJson(ExplainMatchResponse.toJSON(explained));
  else showExplanation(explained);
}

function demandProperty(input: Input, argument: string | undefined) {
  const wanted = propertyNamed(input, argument);
  if (Object.values(wanted).every((name) => name === '')) {
    throw new UsageError('name the property: PROPERTY|URL, --property, --advert or --url');
  }
  return wanted;
}

export const EXPLANATION_COMMANDS: readonly Command[] = [
  {
    words: 'explain',
    args: '[SEARCH] [PROPERTY|URL]',
    summary: 'why a property does or does not satisfy a search, and what was sent',
    details:
      'With --client in the place of SEARCH: of every search of the client that it satisfies, or fails by one ' +
      'criterion. URL is the address of one of its adverts on the portal.',
    options: {
      client: valued('ID|NAME', 'its searches that the property satisfies, or fails by one criterion'),
      ...PROPERTY,
      ...PAGE,
      limit: valued('N', 'with --client, at most so many searches; 20 without it'),
    },
    example: 'vigie admin explain --client Acme https://portal.example/annonce/7',
    run: (client, input) =>
      input.text('client') === '' ? explainSearch(client, input) : explainToClient(client, input),
  },
];
