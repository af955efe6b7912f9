/** A criterion is a row of a table, and a kind of event one word. The compiler names the files that need a change. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copySources, type SourceCopy } from '../support/source-copy.ts';

const FLAG = "  hasSwimmingPool: { described: 'Has a pool.', label: { fr: 'Piscine', en: 'Swimming pool' } },\n";
const ROW = `
  flag('hasSwimmingPool', ofProperty('hasSwimmingPool'), {
    ...{ requested: 'With a pool or without; null accepts both.', answered: 'With a pool or without.' },
    words: {
      fr: { yes: 'Il y a une piscine', no: 'Sans piscine', asRequested: '', unknown: 'On ne sait pas', requested: ['Sans', 'Avec'] },
      en: { yes: 'It has a pool', no: 'It has none', asRequested: '', unknown: 'It is unknown', requested: ['Without', 'With'] },
    },
  }),
`;
const TABLE = 'src/engine/domain/criterion-table.ts';

/** Files with type errors, including those of the console's page, whose generated lists are written before. */
async function filesThatFail({ failureOf }: SourceCopy): Promise<readonly string[]> {
  const tsc = 'node_modules/typescript/bin/tsc';
  const service = await failureOf(tsc);
  assert.equal(await failureOf('--import', 'tsx', 'src/rest/description/build.ts'), null);
  const page = await failureOf(tsc, '-p', 'src/console/page');
  return [...new Set(`${service ?? ''}${page ?? ''}`.match(/^[\w./-]+(?=\(\d+,\d+\): error)/gm) ?? [])].sort();
}

test('a criterion for a new flag needs one row of flags and one row of criteria', { timeout: 600_000 }, async (t) => {
  const copy = await copySources(t);
  await copy.change('src/engine/domain/property-flags.ts', (text) =>
    text.replace(/^ {2}furnished: .*\n/m, `$&${FLAG}`),
  );
  assert.deepEqual(await filesThatFail(copy), [TABLE, 'test/support/criteria-arbitrary.ts']);
  await copy.change(TABLE, (text) => text.replace(/\n {2}codes\('publisherTypes'/, `${ROW.trimEnd()}$&`));
  assert.deepEqual(await filesThatFail(copy), []);
  // The index finds the same searches as a scan, and every criterion has an evaluation and texts.
  const tests = ['test/search-index.test.ts', 'test/explanations.test.ts', 'test/stored-property.test.ts'];
  assert.equal(await copy.failureOf('--import', 'tsx', '--test', ...tests), null);
});

test('the compiler names the files that a new kind of event affects', { timeout: 600_000 }, async (t) => {
  const copy = await copySources(t);
  await copy.change('src/engine/domain/codes.ts', (text) =>
    text.replace("  'ad.update.expired',\n", "$&  'ad.update.energy',\n"),
  );
  assert.deepEqual(await filesThatFail(copy), [
    'src/console/page/views/delivery-row.tsx',
    'src/engine/domain/change.ts',
    'src/features/explanations/pair-history.ts',
    'src/features/mail/mail-text.ts',
    'src/features/mail/mail-words.ts',
    'src/rest/description/alert-schemas.ts',
    'src/rest/webhook-tester.ts',
  ]);
});
