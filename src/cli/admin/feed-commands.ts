/** `vigie admin`: the sources whose files are read, and what their last snapshots brought. */

import { Feed, ListFeedsResponse } from '../../admin/generated/vigie/admin/v1/feeds.ts';
import { print } from '../terminal.ts';
import { call } from './client.ts';
import { type Command, named, PAGE } from './command.ts';
import { idOf, printFacts, printJson, printTable } from './output.ts';

function show({ complaints, notices, ...feed }: Feed, isJson: boolean): void {
  if (isJson) return printJson(Feed.toJSON({ complaints, notices, ...feed }));
  printFacts(feed);
  for (const complaint of complaints) print(`not understood: ${complaint}`);
  for (const notice of notices) print(`note: ${notice}`);
}

export const FEED_COMMANDS: readonly Command[] = [
  {
    words: 'feeds list',
    summary: 'sources whose files are read, by name',
    options: PAGE,
    example: 'vigie admin feeds list',
    async run(client, { text, whole, isJson }) {
      const page = { pageSize: whole('limit'), pageToken: text('page-token') };
      const listed = await call(client, client.stub.listFeeds, page);
      if (isJson) return printJson(ListFeedsResponse.toJSON(listed));
      printTable(listed.feeds, [
        { title: 'FEED', value: ({ name }) => idOf(name) },
        { title: 'LIVE', value: ({ advertCount }) => advertCount },
        { title: 'NEW', value: ({ newCount }) => newCount },
        { title: 'CHANGED', value: ({ changedCount }) => changedCount },
        { title: 'GONE', value: ({ goneCount }) => goneCount },
        { title: 'NOT UNDERSTOOD', value: ({ notUnderstoodCount }) => notUnderstoodCount },
        { title: 'READ', value: ({ readTime }) => readTime },
        { title: 'REFUSED', value: ({ refusal }) => refusal },
      ]);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'feeds show',
    args: 'NAME',
    summary: 'one source and what its last snapshot brought',
    example: 'vigie admin feeds show saint-raphael',
    async run(client, { args, isJson }) {
      show(await call(client, client.stub.getFeed, { name: named('feeds', args[0] as string) }), isJson);
    },
  },
  {
    words: 'feeds run',
    args: 'NAME',
    summary: 'read a snapshot of a source of VIGIE_FEEDS_FILE within seconds',
    example: 'vigie admin feeds run saint-raphael',
    async run(client, { args, isJson }) {
      show(await call(client, client.stub.runFeed, { name: named('feeds', args[0] as string) }), isJson);
    },
  },
];
