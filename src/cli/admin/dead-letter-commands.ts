/** `vigie admin`: dead letters. */

import {
  DeadLetter,
  ListDeadLettersResponse,
  PurgeDeadLettersResponse,
  RequeueDeadLettersResponse,
} from '../../admin/generated/vigie/admin/v1/dead_letters.ts';
import { print } from '../terminal.ts';
import { call } from './client.ts';
import {
  type Command,
  DRY_RUN,
  demandCondition,
  type Input,
  flag as isSet,
  named,
  PAGE,
  RANGE,
  valued,
} from './command.ts';
import { withCountdown } from './countdown.ts';
import { idOf, printFacts, printJson, printTable } from './output.ts';

const LETTER_OPTIONS = {
  subject: valued('SUBJECT', 'of this subject alone'),
  reason: valued('TEXT', 'whose reason contains this, in any case'),
  ...RANGE,
};
const LETTER_CONDITIONS = ['subject', 'reason', 'since', 'until'];

function letterFilterOf({ args, text, time }: Input) {
  return {
    names: args.map((id) => named('deadLetters', id)),
    subject: text('subject'),
    reason: text('reason'),
    startTime: time('since'),
    endTime: time('until'),
  };
}

export const DEAD_LETTER_COMMANDS: readonly Command[] = [
  {
    words: 'dead-letters list',
    args: '[ID…]',
    summary: 'intake messages that could not be understood, newest first',
    options: { ...LETTER_OPTIONS, ...PAGE },
    example: 'vigie admin dead-letters list --reason propertyType',
    async run(client, input) {
      const page = { pageSize: input.whole('limit'), pageToken: input.text('page-token') };
      const listed = await call(client, client.stub.listDeadLetters, { ...page, filter: letterFilterOf(input) });
      if (input.isJson) return printJson(ListDeadLettersResponse.toJSON(listed));
      printTable(listed.deadLetters, [
        { title: 'ID', value: ({ name }) => idOf(name) },
        { title: 'RECEIVED', value: ({ receiveTime }) => receiveTime },
        { title: 'SUBJECT', value: ({ subject }) => subject },
        { title: 'BYTES', value: ({ bodyBytes }) => bodyBytes },
        { title: 'REASON', value: ({ reason }) => reason },
      ]);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'dead-letters show',
    args: 'ID',
    summary: 'one dead letter with its body',
    example: 'vigie admin dead-letters show ID',
    async run(client, { args, isJson }) {
      const letter = await call(client, client.stub.getDeadLetter, { name: named('deadLetters', args[0] as string) });
      if (isJson) return printJson(DeadLetter.toJSON(letter));
      const { headers, body, ...facts } = letter;
      printFacts(facts, headers);
      print(`\n${body.toString('utf8')}`);
    },
  },
  {
    words: 'dead-letters requeue',
    args: '[ID…]',
    summary: 'publish them again',
    details: 'Those that are still not understood come back as new dead letters.',
    options: { ...LETTER_OPTIONS, ...DRY_RUN },
    example: 'vigie admin dead-letters requeue --reason propertyType --dry-run',
    async run(client, input) {
      demandCondition(input, LETTER_CONDITIONS);
      const validateOnly = input.flag('dry-run');
      const filter = letterFilterOf(input);
      const requeue = (isDryRun: boolean, stopping: AbortSignal | null = null) =>
        call(client, client.stub.requeueDeadLetters, { filter, validateOnly: isDryRun }, stopping);
      const counting = {
        ...{ doing: 'publishing again', unit: 'messages' },
        count: async () => (await requeue(true)).requeuedCount,
      };
      const requeued = validateOnly
        ? await requeue(true)
        : await withCountdown({ ...counting, work: (stopping) => requeue(false, stopping) });
      if (input.isJson) return printJson(RequeueDeadLettersResponse.toJSON(requeued));
      printFacts({
        [validateOnly ? 'would be published again' : 'published again']: requeued.requeuedCount,
        ...(requeued.overtakenCount === 0 ? {} : { 'overtaken by a later message, and kept': requeued.overtakenCount }),
      });
    },
  },
  {
    words: 'dead-letters purge',
    args: '[ID…]',
    summary: 'delete them for good',
    options: { ...LETTER_OPTIONS, force: isSet('really; without it they are counted') },
    example: 'vigie admin dead-letters purge --until 30d --force',
    async run(client, input) {
      demandCondition(input, LETTER_CONDITIONS);
      const force = input.flag('force');
      const purged = await call(client, client.stub.purgeDeadLetters, { filter: letterFilterOf(input), force });
      if (input.isJson) return printJson(PurgeDeadLettersResponse.toJSON(purged));
      printFacts({ [force ? 'deleted' : 'would be deleted']: purged.purgeCount });
    },
  },
];
