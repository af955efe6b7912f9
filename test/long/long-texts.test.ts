/** Every function that reads texts takes linear time. Each gets long runs of a character, a word, or two characters. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { csvCell } from '../../src/csv.ts';
import { EXPRESSIONS } from '../../src/engine/domain/expression-criterion.ts';
import { readExpressions } from '../../src/engine/domain/expressions.ts';
import { featuresOf } from '../../src/engine/domain/features.ts';
import { timeOrderedUuid } from '../../src/engine/domain/ids.ts';
import { nearestHint } from '../../src/engine/domain/nearest-name.ts';
import { ExpressionTable } from '../../src/engine/matching/text/expression-table.ts';
import { loadReference, type Reference } from '../../src/engine/reference/communes.ts';
import { readMapped } from '../../src/features/feeds/mapped-files.ts';
import { parseMapping } from '../../src/features/feeds/mapping.ts';
import { readPoliris } from '../../src/features/feeds/poliris.ts';
import { messageBytes } from '../../src/features/mail/mail-letter.ts';
import { mailText } from '../../src/features/mail/mail-text.ts';
import { escapeHtml } from '../../src/rest/content.ts';
import { decimal, decimalOf } from '../../src/values.ts';
import { upsertAt } from '../support/adverts.ts';
import { contentsOf, FOOT, startReader } from '../support/mail-reader.ts';
import { polirisFile } from '../support/poliris.ts';

const [SHORT, LONG] = [10_000, 100_000];
const TIMES_MAX = 15;
/** Shorter times are noise. A quadratic function takes seconds for the long text. */
const NOISE_MS = 25;
const TRIES = 3;

const CHARACTERS = [
  ...'a1 0.,:;!?-_/\\|*+=<>&"\'()[]{}#%@~éŒß\n\t²…'.split(''),
  '\u0301',
  '\u0316',
  '\u00ad',
  '\u00a0',
  '\u{1f3e1}',
  '\ud83d',
  '㎡',
];

/** Words at each of which a function might start to read the rest of the text again. */
const WORDS = ['aucun ', 'sans un et ', '100 ', '0 ', 'a : 0 ', 'deux ', 'T ', 'hors ', 'cedex ', '&amp;', 'Aa. '];

type Reads = Readonly<Record<string, (text: string) => unknown>>;

const entries = [
  ['vue mer', true, false],
  ['a a', true, true],
  ['non a', true, false],
] as const;
const EXPECTED = entries.map(([word, includes, strict]) => [{ word, includes, strict }]);

function evaluatedOf(text: string) {
  const evaluated = { expected: EXPECTED, actual: [text], holds: false };
  return [EXPRESSIONS.reason(evaluated, 'fr'), EXPRESSIONS.shown(evaluated)];
}

async function drain(rows: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of rows);
}

const chunksOf = async function* (text: string | Buffer) {
  yield Buffer.from(text);
};
const members = { title: 't', description: 't', price: 't', 'energy.value': 't', furnished: 't', 'contact.email': 't' };
const mappingOf = (format: string, more: object = {}) =>
  parseMapping(JSON.stringify({ format, reference: 'id', members, ...more }), 'mapping.json');
/** A file that is refused is read up to the refusal. */
const mapped = (file: string, mapping: ReturnType<typeof mappingOf>) =>
  drain(readMapped(chunksOf(file), mapping)).catch(() => undefined);

function readersOf(reference: Reference): Reads {
  const table = new ExpressionTable();
  const ids = EXPECTED.map((group) => table.use([group]));
  const mailbox = startReader();
  mailbox.publish(upsertAt(0, {}));
  const entry = mailbox.entry() ?? assert.fail();
  const fields = { 1: 'a', 2: '1', 3: 'vente', 4: 'maison' };
  return {
    kernel: (text) => {
      table.read([text]);
      return ids.map((id) => table.holds(id));
    },
    explanation: evaluatedOf,
    features: (text) => featuresOf(text.match(/[^]{1,200}/g)?.slice(0, 100) ?? []),
    email: (text) => {
      const contact = { name: text, phone: text, email: text, reference: text };
      const property = { ...entry.property, title: text, publisher: text, contact };
      const causes = entry.causes.map((cause) => ({ ...cause, searchName: text, misses: [text] }));
      const search = { name: text, criteria: text };
      const contents = contentsOf([{ ...entry, property, causes }], [search]);
      const written = mailText(contents, { ...FOOT, sender: text }, 'fr');
      const from = { name: 'Vigie', address: 'vigie@example.org' };
      return messageBytes({
        id: timeOrderedUuid(new Date(0)),
        from,
        to: 'jo@example.org',
        text: written,
        unsubscribeUrl: FOOT.unsubscribeUrl,
      });
    },
    poliris: (text) => {
      const everywhere = { 5: text, 11: text, 20: text, 21: text, 85: text, 109: text, 176: text, 175: text };
      return drain(readPoliris(chunksOf(polirisFile([{ ...fields, ...everywhere }, fields])), 'source')).catch(
        () => undefined,
      );
    },
    csv: (text) => mapped(`id,t\n1,${csvCell(text)}\n2,${text}\n`, mappingOf('csv')),
    xml: (text) =>
      mapped(`<r><a><id>1</id><t>${escapeHtml(text)}</t></a><a>${text}</a></r>`, mappingOf('xml', { adverts: 'r/a' })),
    json: (text) => mapped(JSON.stringify([{ id: 1, t: text }]), mappingOf('json')),
    place: (text) => [
      reference.resolvePlace({ insee: null, zipcode: null, name: text, lat: null, lon: null }),
      reference.resolvePlace({ insee: null, zipcode: '83000', name: `Paris ${text}`, lat: 43.1, lon: 5.9 }),
      reference.completePlaces(text, { offset: 0, limit: 10 }),
    ],
    console: (text) => [
      readExpressions(text, () => undefined),
      nearestHint(text, ['title']),
      decimal(Number.isFinite, { en: '', fr: '' }).read(text),
      decimalOf(`1${'0'.repeat(text.length)}e1`),
    ],
  };
}

let reads: Reads = {};
before(async () => {
  reads = readersOf(await loadReference());
  // The first call of each function loads tables and compiles code.
  for (const read of Object.values(reads)) for (const text of ['vue mer', run('a', '.', SHORT)]) await read(text);
});

type Text = (length: number) => string;

/** Alternates `a` and `b`, then has many `a` after one `b`, then many `b` after one `a`. */
function run(a: string, b: string, length: number): string {
  const times = Math.floor(length / (a === b ? a.length : 4));
  return a === b ? a.repeat(times) : (a + b).repeat(times) + b + a.repeat(times) + b.repeat(times) + a;
}

async function cpuMs(read: (text: string) => unknown, text: string): Promise<number> {
  const start = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/** Null if the time is linear. */
async function faultOf(read: (text: string) => unknown, text: Text): Promise<string | null> {
  let [short, long] = [0, Number.POSITIVE_INFINITY];
  for (let left = TRIES; left > 0; left--) {
    long = Math.min(long, await cpuMs(read, text(LONG)));
    if (long <= TIMES_MAX * NOISE_MS) return null;
    short = Math.max(short, await cpuMs(read, text(SHORT)));
    if (long <= TIMES_MAX * Math.max(short, NOISE_MS)) return null;
  }
  return `${JSON.stringify(text(20))}: ${long.toFixed()} ms, ${short.toFixed()} ms for a tenth`;
}

/** Each function reads every `every`-th text, so that different functions read different texts. */
async function faultsOf(texts: readonly Text[], every = 1): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [at, [name, read]] of Object.entries(reads).entries()) {
    for (const text of texts.filter((_, i) => (i + at) % every === 0)) {
      const fault = await faultOf(read, text);
      if (fault !== null) faults.push(`${name} of ${fault}`);
    }
  }
  return faults;
}

test('ten times as many equal characters or words take at most fifteen times the CPU time in every reader of texts', async () => {
  assert.ok(CHARACTERS.length >= 40);
  const equal = [...CHARACTERS, ...WORDS].map((one) => (length: number) => run(one, one, length));
  const number = (length: number) => `1,${'0'.repeat(length)}1`;
  assert.deepEqual(await faultsOf([...equal, number]), []);
});

test('alternating runs of two characters take at most fifteen times the CPU time too', async () => {
  const pairs = CHARACTERS.flatMap((a, at) =>
    CHARACTERS.slice(at + 1).map((b) => (length: number) => run(a, b, length)),
  );
  // All pairs take nine minutes.
  assert.deepEqual(await faultsOf(pairs, process.env.TEST_RUNS === 'all' ? 1 : 7), []);
});
