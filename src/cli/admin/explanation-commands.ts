/** `vigie admin explain`: of one search, or of all searches of a client that a property satisfies or narrowly fails. */

import type { JsonObject } from '@bufbuild/protobuf';
import { type Input, UsageError, valued } from '../command.ts';
import { print, styled } from '../terminal.ts';
import { type AdminClient, call } from './client.ts';
import type { Command } from './command.ts';
import { methodNamed } from './descriptors.ts';
import { listOf, printFacts, printJson, printMore, textOf, withoutBlanks } from './output.ts';
import { fieldsOf, optionsOf, requestOf } from './request.ts';

const FIELDS = fieldsOf(methodNamed('ExplainProperty').input, []);

export const EXPLANATION_COMMANDS: readonly Command[] = [
  {
    words: 'explain',
    args: '[SEARCH] [PROPERTY|URL]',
    summary: 'why a property does or does not satisfy a search, and what was sent',
    details:
      'With --client in the place of SEARCH: of every search of the client that it satisfies, or fails by one ' +
      'criterion. URL is the address of one of its adverts on the portal.',
    options: {
      ...optionsOf(FIELDS),
      client: valued('ID|NAME', 'its searches that the property satisfies, or fails by one criterion'),
      limit: valued('N', 'with --client, at most so many searches; 20 without it'),
    },
    example: 'vigie admin explain --client Acme https://portal.example/annonce/7',
    run: (client, input) =>
      input.text('client') === '' ? explainSearch(client, input) : explainToClient(client, input),
  },
];

async function explainToClient(client: AdminClient, input: Input): Promise<void> {
  if (input.args.length > 1) throw new UsageError('--client stands in the place of SEARCH');
  const explained = await call(client, 'ExplainProperty', propertyIn(requestOf(FIELDS, input), input.args[0]));
  if (input.isJson) printJson(explained);
  else showAll(explained);
}

async function explainSearch(client: AdminClient, input: Input): Promise<void> {
  const [search, property] = input.args;
  if (search === undefined) throw new UsageError('name a SEARCH, or a client by --client');
  const { pageSize: _size, pageToken: _token, ...named } = requestOf(FIELDS, input);
  const id = search.startsWith('searches/') ? search : `searches/${search}`;
  const explained = await call(client, 'ExplainMatch', { ...propertyIn(named, property), search: id });
  if (input.isJson) printJson(explained);
  else showExplanation(explained);
}

/** Named by options, or in place of them: an id, `adverts/` and an id, or an address. */
function propertyIn(request: JsonObject, argument = ''): JsonObject {
  if (request.property || request.advert || request.advertUrl) return request;
  if (argument === '') throw new UsageError('name the property: PROPERTY|URL, --property, --advert or --url');
  if (/^https?:\/\//.test(argument)) return { ...request, advertUrl: argument };
  if (argument.startsWith('adverts/')) return { ...request, advert: argument };
  return { ...request, property: argument.startsWith('properties/') ? argument : `properties/${argument}` };
}

function showExplanation({ satisfied, verdicts, pair, deliveries, reasons }: JsonObject): void {
  print(styled('bold', satisfied === true ? 'satisfied' : 'not satisfied'));
  for (const { criterion, holds, expected, actual } of listOf(verdicts)) {
    print(`  ${holds === true ? 'yes' : styled('bold', 'no ')}  ${textOf(criterion)}`);
    print(`         asked  ${withoutBlanks(textOf(expected))}`);
    print(`         found  ${withoutBlanks(textOf(actual))}`);
  }
  print();
  const { match = '', beginTime = '', updateTime = '' } = (pair ?? {}) as JsonObject;
  printFacts({ match, began: beginTime, updated: updateTime });
  for (const { delivery, explanation } of listOf(deliveries)) {
    const { name = '', kind = '' } = (delivery ?? {}) as JsonObject;
    print(`${textOf(name)}  ${textOf(kind)}\n  ${textOf(explanation)}`);
  }
  for (const { code, sentence } of listOf(reasons)) print(`${textOf(code)}: ${textOf(sentence)}`);
}

function showAll({ property, explanations, totalSize, ...page }: JsonObject): void {
  printFacts({ property: property ?? '', 'searches that it satisfies, or fails by one criterion': totalSize ?? 0 });
  for (const explained of listOf(explanations)) {
    print();
    printFacts({ search: explained.search ?? '', title: explained.searchTitle ?? '' });
    showExplanation(explained);
  }
  printMore(page);
}
