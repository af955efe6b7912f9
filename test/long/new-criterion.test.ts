/** A criterion and a kind of event are added in one table each: the compiler names every place that does not follow. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copySources, type SourceCopy } from '../support/source-copy.ts';

const FLAG =
  "  hasSwimmingPool: { described: 'Has a pool.', label: { fr: 'Piscine', en: 'Swimming pool' }, isCompared: true },\n";
const ROW = `
  flag('hasSwimmingPool', ofProperty('hasSwimmingPool'), {
    ...{ asked: 'With a pool or without; null: either.', answered: 'With a pool or without.' },
    words: {
      fr: { yes: 'Il y a une piscine', no: 'Sans piscine', asAsked: '', unknown: 'On ne sait pas', asked: ['Sans', 'Avec'] },
      en: { yes: 'It has a pool', no: 'It has none', asAsked: '', unknown: 'It is unknown', asked: ['Without', 'With'] },
    },
  }),
`;
const TABLE = 'src/engine/domain/criterion-table.ts';

/** The files with errors, the page's own among them; its lists are written before it is compiled. */
async function filesThatFail({ failureOf }: SourceCopy): Promise<readonly string[]> {
  const tsc = 'node_modules/typescript/bin/tsc';
  const service = await failureOf(tsc);
  assert.equal(await failureOf('--import', 'tsx', 'src/rest/description/build.ts'), null);
  const page = await failureOf(tsc, '-p', 'src/console/page');
  return [...new Set(`${service ?? ''}${page ?? ''}`.match(/^[\w./-]+(?=\(\d+,\d+\): error)/gm) ?? [])].sort();
}

test('a criterion of a new flag takes a row of flags and a row of criteria', { timeout: 600_000 }, async (t) => {
  const copy = await copySources(t);
  await copy.change('src/engine/domain/property-flags.ts', (text) =>
    text.replace(/^ {2}furnished: .*\n/m, `$&${FLAG}`),
  );
  assert.deepEqual(await filesThatFail(copy), [TABLE, 'test/support/criteria-arbitrary.ts']);
  await copy.change(TABLE, (text) => text.replace(/\n {2}codes\('publisherTypes'/, `${ROW.trimEnd()}$&`));
  assert.deepEqual(await filesThatFail(copy), []);
  // The index finds what a scan of all searches finds, and every criterion has a evaluation and words.
  const tests = ['test/search-index.test.ts', 'test/explanations.test.ts', 'test/stored-property.test.ts'];
  assert.equal(await copy.failureOf('--import', 'tsx', '--test', ...tests), null);
});

test('the compiler names every place of a new kind of event', { timeout: 600_000 }, async (t) => {
  const copy = await copySources(t);
  await copy.change('src/engine/domain/codes.ts', (text) =>
    text.replace("  'ad.update.expired',\n", "$&  'ad.update.energy',\n"),
  );
  assert.deepEqual(await filesThatFail(copy), [
    'src/console/page/editor/notification-fields.tsx',
    'src/console/page/views/delivery-row.tsx',
    'src/console/page/views/webhook-test.tsx',
    'src/engine/domain/change.ts',
    'src/features/explanations/pair-history.ts',
    'src/features/mail/mail-words.ts',
    'src/rest/description/alert-schemas.ts',
    'src/rest/webhook-tester.ts',
  ]);
});
