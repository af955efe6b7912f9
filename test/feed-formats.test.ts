/**
 * Agencies' files as adverts: real files, compared with an independent reading of the same bytes, and files that are
 * damaged or malicious.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { type AdvertRow, type FeedRow, known, withinBounds } from '../src/features/feeds/feed-row.ts';
import { asPublished, contentJson, hashOf, identityOf } from '../src/features/feeds/identity.ts';
import { readMapped } from '../src/features/feeds/mapped-files.ts';
import { parseMapping } from '../src/features/feeds/mapping.ts';
import { createNumberReader, type DecimalHabits } from '../src/features/feeds/numbers.ts';
import { readPoliris } from '../src/features/feeds/poliris.ts';
import { ROOT, SHARED_DATA } from './support/checkout.ts';
import { assertNone, tuplesOf, valuesOf } from './support/lists.ts';
import { polirisFile, polirisLine } from './support/poliris.ts';

const FOLDER = fileURLToPath(SHARED_DATA);
const HAS_DATA = existsSync(`${FOLDER}feeds`);
const skip = HAS_DATA ? false : 'the real files are not here';

const SNAPSHOTS = {
  'hektor_2026-03-13_1602': 83,
  'hektor_2026-03-13_2111': 84,
  'hektor_2026-03-14_1805': 85,
  'hektor_2026-03-16_1556': 88,
  'hektor_2026-03-17_2331': 91,
  'hektor_2026-03-19_0424': 101,
  'hektor_2026-03-19_1847': 102,
  'luberon_2026-02-18_0041': 22,
  'luberon_2026-02-18_2049': 71,
  'luberon_2026-02-19_1629': 102,
};

async function* chunksOf(bytes: Uint8Array, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

const poliris = (bytes: Uint8Array, size?: number) => all(readPoliris(chunksOf(bytes, size), 'some-agency'));

function mapped(bytes: Uint8Array | string, mapping: object): Promise<FeedRow[]> {
  return all(readMapped(chunksOf(Buffer.from(bytes), 7), parseMapping(JSON.stringify(mapping), 'mapping.json')));
}

function advertsOf(rows: readonly FeedRow[]): readonly AdvertRow[] {
  assertNone(rows.filter(({ kind }) => kind === 'complaint'));
  return rows as readonly AdvertRow[];
}

const kindsOf = (rows: readonly FeedRow[]) => rows.map(({ kind, reference }) => `${kind} ${reference}`);

/** Line and reference of each row, and its advert or the reason why there is none. */
const readingsOf = (rows: readonly FeedRow[]) =>
  rows.map((row) => [row.line, row.reference, row.kind === 'advert' ? row.content.advert : row.reason]);

/**
 * An independent reading that splits the whole text of the file into lines and then into the columns of SeLoger's list.
 */
function independentReading(bytes: Buffer): readonly Record<string, unknown>[] {
  const utf8 = bytes.toString('utf8');
  const text = utf8.includes('\ufffd') ? new TextDecoder('windows-1252').decode(bytes, { stream: true }) : utf8;
  const names = readFileSync(`${FOLDER}feeds/poliris-columns.csv`, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',').slice(1).join('.').trim());
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const column: Record<string, string> = {};
      line.split('!#').forEach((value, at) => {
        column[names[at] ?? `beyond ${at}`] = value.slice(1, -1);
      });
      return advertOfColumns(column, names);
    });
}

function advertOfColumns(column: Record<string, string>, names: readonly string[]): Record<string, unknown> {
  const get = (name: string): string => {
    assert.ok(name in column, `no column ${name}`);
    return (column[name] as string).trim();
  };
  const num = (name: string) => (Number.parseFloat(get(name)) ? Number.parseFloat(get(name)) : undefined);
  const bare = (name: string) =>
    get(name)
      .replace(/<[^>]+>/g, '')
      .replaceAll('&#128;', '€')
      .replaceAll('&amp;', '&')
      .replaceAll('&#39;', "'")
      .replace(/\s+/g, '');
  const flag = (name: string) => ({ OUI: true, NON: false })[get(name)];
  const sold = get('Identifiant.annonceType').toLowerCase().split(' ')[0] ?? '';
  const code = { vente: 0, viager: 0, location: 1 }[sold];
  const sale = code !== 1;
  const kinds = [
    /^(appartement|loft)/,
    /^(maison|ch.teau|h.tel)/,
    /^immeuble/,
    /^parking/,
    /^bureaux/,
    /^terrain/,
    /^(boutique|local)/,
  ];
  const kind = kinds.findIndex((pattern) => pattern.test(get('Type.type').toLowerCase()));
  const letter = (name: string) => (/^[A-G]$/.test(get(name)) ? get(name) : undefined);
  const fees = get('HonoraireCharge.honorairesCharge');
  const hasPlace = num('Localisation.latitude') !== undefined && num('Localisation.longitude') !== undefined;
  const own = get('Identifiant.agencePropertyRef');
  const ges = get('Diagnostic.ges');
  return {
    reference: get('Identifiant.agenceId') ? `${get('Identifiant.agenceId')}/${own}` : own,
    transactionType: code,
    propertyType: kind === -1 ? undefined : kind,
    price: num('Prix.prix'),
    priceExcludingFees: num('HonoraireCharge.prixHorsHonorairesAcquereur'),
    feesPercentage: num('HonoraireCharge.pourcentageHonorairesTTC'),
    feesResponsibility: fees === '1' ? 1 : fees === '2' ? 0 : undefined,
    rentalCharges: sale ? undefined : num('HonoraireCharge.charges'),
    condominiumFees: sale ? num('HonoraireCharge.chargesAnnuelles') : undefined,
    rentalPledge: num('Prix.depotGarantie'),
    surface: num('Surface.surface'),
    landSurface: num('Surface.surfaceTerrain'),
    room: num('Surface.nbPieces'),
    bedroom: num('Surface.nbChambres'),
    floor: get('Etage.etage') === '' ? undefined : Number(get('Etage.etage')),
    floorQuantity: num('Etage.nbEtages'),
    elevator: flag('Exterieur.ascenseur'),
    furnished: flag('Interieur.meuble'),
    constructionYear: num('Interieur.anneeConstruction'),
    lotCount: num('Prix.nbLots'),
    lat: hasPlace ? num('Localisation.latitude') : undefined,
    lon: hasPlace ? num('Localisation.longitude') : undefined,
    zipcode: get('Localisation.cpReel') || get('Localisation.cp'),
    city: get('Localisation.villeReelle') || get('Localisation.ville'),
    title: bare('Detail.label'),
    description: bare('Detail.description'),
    virtualTour: get('Photo.urlVisiteVirtuelle') || undefined,
    energy: [letter('Diagnostic.bilanConsoEnergie'), num('Diagnostic.consoEnergie')],
    greenHouseGas: [
      letter('Diagnostic.bilanGes'),
      ges === '0' && letter('Diagnostic.bilanGes') ? 0 : num('Diagnostic.ges'),
    ],
    phone: get('Contact.tel') || undefined,
    name: get('Contact.fullName') || undefined,
    email: get('Contact.email') || undefined,
    contactReference: own,
    publisher: ['Agence', get('Contact.fullName') || 'some-agency', 1],
    pictures: names.filter((name) => /^Photo\.photo\d/.test(name)).flatMap((name) => get(name) || []),
    hasPool: get('Exterieur.piscine') === 'OUI',
    hasCellar: get('Interieur.cave') === 'OUI',
    hasTerrace: get('Surface.terrasse') === 'OUI',
    hasBalcony: Number(get('Surface.nbBalcons')) > 0,
    hasFireplace: get('Interieur.cheminee') === 'OUI',
    isCool: get('ChauffageClim.clim') === 'OUI',
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- members of a mapped advert have many types
type Loose = any;

/** The product's reading, in the same form as the independent one. */
function flattened({ reference, content }: AdvertRow): Record<string, unknown> {
  const dropped: string[] = [];
  const { property, advert } = withinBounds(content, ({ fault }) => dropped.push(fault)) as Record<string, Loose>;
  assert.deepEqual(dropped, []);
  const { locations, city, ...rest } = property;
  const {
    contact,
    publisher,
    energy,
    greenHouseGas,
    features = [],
    pictures = [],
    title,
    description,
    ...others
  } = advert;
  const has = (feature: string) => features.includes(feature);
  const { reference: contactReference, ...person } = contact;
  return {
    ...{
      reference,
      ...rest,
      ...others,
      ...locations,
      zipcode: city.zipcode,
      city: city.name,
      ...person,
      contactReference,
    },
    title: title.replace(/\s+/g, ''),
    description: description.replace(/\s+/g, ''),
    energy: [energy?.category, energy?.value],
    greenHouseGas: [greenHouseGas?.category, greenHouseGas?.value],
    publisher: [publisher.category, publisher.name, publisher.type],
    pictures,
    hasPool: has('piscine'),
    hasCellar: has('cave'),
    hasTerrace: has('terrasse'),
    hasBalcony: has('balcon'),
    hasFireplace: has('cheminée'),
    isCool: has('climatisation'),
  };
}

for (const [name, count] of Object.entries(SNAPSHOTS)) {
  test(`every member of every row of ${name} agrees with an independent reader`, { skip }, async () => {
    const bytes = gunzipSync(readFileSync(`${FOLDER}feeds/${name}.csv.gz`));
    const rows = advertsOf(await poliris(bytes, 65_536));
    assert.equal(rows.length, count);
    assertNone(rows.flatMap(({ losses }) => losses));
    const expected = independentReading(bytes);
    assert.equal(expected.length, count);
    rows.forEach((row, at) => assert.deepEqual(known(flattened(row)), known(expected[at] ?? {})));
  });
}

test('Poliris values have the meaning of the format, and unknown values stay unknown', async () => {
  const fields = {
    1: 'agence',
    2: 'R1',
    3: 'Location',
    4: 'MAISON/VILLA',
    11: '1 250,50',
    13: 'OUI',
    16: '0',
    17: '0.00',
    18: '3',
    19: '0',
    20: '  Villa &agrave; louer &#128;',
    21: ' Belle vue<br/>mer &amp; golf<p>Deux <b>terrasses</b></p>l?ensemble\nau calme ',
    23: '80',
    24: '0',
    27: '0',
    41: 'NON',
    176: '0',
    177: 'vi',
    178: '12',
    179: 'c',
    257: '0',
    260: '900',
    298: '43.4',
    299: '0.000000000',
    302: '3',
  };
  const [row] = advertsOf(await poliris(polirisFile([fields]), 3));
  const { property, advert } = withinBounds((row as AdvertRow).content, () => assert.fail());
  assert.deepEqual(property, { transactionType: 1, propertyType: 1, room: 3 });
  const { contact, publisher, ...rest } = advert;
  assert.deepEqual(contact, { reference: 'R1' });
  assert.deepEqual(publisher, { category: 'Agence', name: 'some-agency', type: 1 });
  assert.deepEqual(rest, {
    title: 'Villa à louer €',
    description: 'Belle vue\nmer & golf\nDeux terrasses\nl?ensemble\nau calme'.replace('golf\nDeux', 'golfDeux'),
    greenHouseGas: { category: 'C', value: 12 },
    floor: 0,
    price: 1250.5,
    rentalCharges: 80,
    features: ['charges comprises'],
    elevator: false,
  });
  assert.equal((row as AdvertRow).reference, 'agence/R1');
});

test('a feature that Poliris denies is listed as an item after the stated ones', async () => {
  const fields = { 1: 'agence', 2: 'R1', 39: '0', 42: 'NON', 43: '2', 48: 'NON', 65: 'OUI', 244: '1', 67: 'NON' };
  const [row] = advertsOf(await poliris(polirisFile([fields]), 1));
  const { content, laterFeatures } = row as AdvertRow;
  const denied = ['terrasse', 'balcon : 0', 'terrasse : non', 'cave : non'];
  assert.deepEqual(content.advert.features, ['parking', 'piscine', ...denied]);
  assert.deepEqual(laterFeatures, denied);

  const identity = identityOf('some-agency', 'agence/R1');
  const whole = withinBounds(content, () => assert.fail());
  const former = { ...whole, advert: { ...whole.advert, features: ['parking', 'piscine'] } };
  const publishedAs = (hash: string | null) => asPublished(whole, laterFeatures, identity, hash);
  assert.deepEqual(publishedAs(hashOf(contentJson(identity, former))), former, 'a new release changes nothing');
  assert.deepEqual(publishedAs(hashOf(contentJson(identity, { ...former, property: { room: 9 } }))), whole);
  assert.deepEqual([publishedAs(hashOf(contentJson(identity, whole))), publishedAs(null)], [whole, whole]);
});

test('fitted kinds of kitchen are a feature, and other kinds leave it unknown', async () => {
  const types = ['', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
  const file = polirisFile(types.map((type, at) => ({ 1: 'agence', 2: `R${at}`, 34: type })));
  const features = advertsOf(await poliris(file)).map(({ content }) => content.advert.features);
  const isFitted = (type: string) => ['6', '7', '8', '9'].includes(type);
  const expected = types.map((type) => (isFitted(type) ? ['cuisine équipée'] : []));
  assert.deepEqual(features, expected);
});

test('each record is decoded by its own bytes, UTF-8 or Windows-1252', async () => {
  const one = polirisLine({ 2: 'R1', 20: 'Été à Fréjus, 90 000 €' });
  const windows = Buffer.from(one.replace('€', '\x80'), 'latin1');
  const rows = advertsOf(await poliris(Buffer.concat([windows, Buffer.from(one.replace('R1', 'R2'), 'utf8')]), 5));
  assert.deepEqual(
    rows.map(({ content }) => content.advert.title),
    ['Été à Fréjus, 90 000 €', 'Été à Fréjus, 90 000 €'],
  );
  const broken = Buffer.from(polirisLine({ 2: 'R3', 21: 'é'.repeat(20) }), 'utf8');
  broken[broken.indexOf(0xa9)] = 0x20;
  const [row] = await poliris(broken);
  const reason = 'the bytes are neither UTF-8 nor Windows-1252';
  assert.deepEqual(row, { kind: 'complaint', line: 1, reference: 'R3', reason });
});

test('a value may contain line ends and quotation marks, and a broken row does not affect the others', async () => {
  const whole = polirisLine({ 2: 'R1', 21: 'one\r\ntwo "three"\n\nfour' });
  const short = '"agence"!#"R2"!#"vente"!#"appartement"\n';
  const file = Buffer.from(`${whole}${short}${polirisLine({ 2: 'R3' })}\r\n\x1a`);
  for (const size of [1, 7, 100_000]) {
    const rows = await poliris(file, size);
    assert.deepEqual(tuplesOf(rows, 'kind', 'line', 'reference'), [
      ['advert', 1, 'R1'],
      ['complaint', 5, 'agence/R2'],
      ['advert', 6, 'R3'],
    ]);
    assert.equal((rows[0] as AdvertRow).content.advert.description, 'one\ntwo "three"\n\nfour');
  }
});

test('two records without a line end between them are one complaint without a reference, and another record is read', async () => {
  const lines = [1, 2, 3].map((number) => polirisLine({ 2: `R${number}` }));
  const joined = `${lines[0]?.trimEnd()}${lines[1]}`;
  for (const file of [joined + lines[2], lines[2] + joined])
    assert.deepEqual(kindsOf(await poliris(Buffer.from(file))).sort(), ['advert R3', 'complaint null']);
});

test('a record that has lost its end and the beginning of the next is not read as one advert', async () => {
  const [whole, first, second] = [1, 2, 3].map((number) =>
    polirisLine({ 2: `R${number}`, 11: '100', 298: '43', 299: '6' }),
  );
  const lost = `${first?.slice(0, 400)}${second?.slice(300)}`;
  const rows = await poliris(Buffer.from(`${whole}${lost}${polirisLine({ 2: 'R4' })}`));
  assert.deepEqual(kindsOf(rows), ['advert R1', 'complaint null', 'advert R4']);
});

test('a file of an older version, with fewer fields, is not read as half the number of adverts', async () => {
  const lineOf = (fields: Readonly<Record<number, string>>) => polirisLine(fields).split('!#').slice(0, 250).join('!#');
  for (const end of ['\n', '!#\r\n']) {
    const lines = [1, 2, 3, 4].map((number) => lineOf({ 2: `R${number}`, 3: 'vente', 11: '100', 21: 'a\nb' }) + end);
    const rows = await poliris(Buffer.from(lines.join('')));
    assert.deepEqual(new Set(kindsOf(rows)), new Set(['complaint null']));
  }
});

test('a row without a reference, or with a NUL, is a complaint with its line, and with its reference if known', async () => {
  const file = Buffer.from(polirisLine({ 1: 'agence' }) + polirisLine({ 2: 'R2', 21: 'a\0b' }));
  const rows = await poliris(file);
  assert.deepEqual(kindsOf(rows), ['complaint null', 'complaint R2']);
  assert.deepEqual(readingsOf(rows), [
    [1, null, 'the reference is missing'],
    [2, 'R2', 'the record contains NUL bytes, a sign of a damaged disk'],
  ]);
});

test('a truncated export is refused, wherever it was cut', async () => {
  const file = Buffer.from(polirisLine({ 2: 'R1', 20: 'Été' }) + polirisLine({ 2: 'R2', 20: 'Été' }).trimEnd(), 'utf8');
  const second = file.indexOf('\n') + 1;
  const cuts = Array.from({ length: file.length - second - 3 }, (_, at) => second + 1 + at);
  for (const cut of cuts)
    await assert.rejects(poliris(file.subarray(0, cut)), /cut off: its last line, 2,/, `at ${cut}`);
  // In these cases no value is missing.
  for (const end of [0, 2]) assert.equal((await poliris(file.subarray(0, file.length - end))).length, 2);
});

test('a file that is not Poliris, or has no end, is refused with a reason', async () => {
  await assert.rejects(poliris(Buffer.from('<html>404</html>')), /The file is not Poliris: line 1/);
  await assert.rejects(poliris(Buffer.from('id,price\n1,2\n')), /The file is not Poliris/);
  async function* endless(): AsyncGenerator<Buffer> {
    for (let count = 0; count < 100; count++) yield Buffer.alloc(1_000_000, 0x41);
    assert.fail('read to its end');
  }
  await assert.rejects(all(readPoliris(endless(), 'x')), /Line 1 has over 4194304 bytes/);
  await assert.rejects(
    all(readMapped(endless(), parseMapping('{"format":"ndjson","reference":"id","members":{}}', 'm'))),
    /Line 1 has over/,
  );
});

const MEMBERS = { price: 'price', title: 'title', 'energy.category': 'dpe', pictures: 'photos/url' };
const TREE = [
  {
    id: 'a',
    price: 100,
    title: 'One <b>&eacute;</b>',
    dpe: 'B',
    photos: [{ url: 'https://x/1' }, { url: 'https://x/2' }],
  },
  { id: 'b', price: '250,5', title: 'Two', dpe: 'Z', photos: { url: 'https://x/3' } },
];
const EXPECTED = [
  { price: 100, title: 'One é', energy: { category: 'B' }, pictures: ['https://x/1', 'https://x/2'] },
  { price: 250.5, title: 'Two', pictures: ['https://x/3'] },
];

test('NDJSON, JSON and XML give the same adverts with the same mapping', async () => {
  const xml = `<?xml version="1.0"?><root><head/><ads>${TREE.map(
    ({ id, price, title, dpe, photos }) =>
      `<ad><id>${id}</id><price currency="EUR">${price}</price><title><![CDATA[${title}]]></title><dpe>${dpe}</dpe>` +
      `${[photos]
        .flat()
        .map(({ url }) => `<photos><url>${url}</url></photos>`)
        .join('')}</ad>`,
  ).join('\n')}</ads></root>`;
  const files = {
    ndjson: [TREE.map((each) => JSON.stringify(each)).join('\n'), undefined],
    json: [JSON.stringify({ meta: [1], ads: TREE }), 'ads'],
    xml: [xml, 'root/ads/ad'],
  } as const;
  for (const [format, [text, path]] of Object.entries(files)) {
    const rows = advertsOf(await mapped(text, { format, adverts: path, reference: 'id', members: MEMBERS }));
    assert.deepEqual(valuesOf(rows, 'reference'), ['a', 'b'], format);
    const adverts = rows.map(({ content }) => known(content.advert));
    assert.deepEqual(adverts, EXPECTED, format);
    const fault = 'not a valid code: add it to `values` of the mapping';
    assert.deepEqual(rows[1]?.losses, [{ member: 'energy.category', fault, value: '"Z"' }]);
  }
});

test('a mapping reads a JSON root list, XML attributes and the encodings that it names', async () => {
  const reference = { reference: 'id', members: { title: 't' } };
  const [json] = advertsOf(await mapped('\ufeff[{"id":1,"t":"x"}]', { format: 'json', ...reference }));
  assert.equal(json?.reference, '1');
  const latin = Buffer.from('<a><b id="7"><t>été</t></b></a>', 'latin1');
  const xml = { format: 'xml', adverts: 'a/b', encoding: 'windows-1252', reference: '@id', members: { title: 't' } };
  const [row] = advertsOf(await mapped(latin, xml));
  assert.deepEqual([row?.reference, row?.content.advert.title], ['7', 'été']);
  await assert.rejects(mapped(latin, { ...xml, encoding: undefined }), /not utf-8 throughout \(1 of 1 adverts\)/);
  const utf8 = Buffer.from(latin.toString('latin1'));
  await assert.rejects(mapped(utf8, xml), /^Error: The file is UTF-8, not windows-1252\. /);
});

test('values become members of the contract: codes, flags, dates, lists', async () => {
  const csv =
    'id,type,lift,seen,photos,unit\n1,flat,oui,2026-03-10,https://x/1|https://x/2,m2\n2,boat,,1970-01-01,[],\n';
  const members = {
    propertyType: { path: 'type', values: { flat: 0 } },
    elevator: 'lift',
    updatedAt: { path: 'seen', values: { '1970-01-01': null } },
    pictures: { path: 'photos', split: '|' },
    transactionType: { value: 0 },
  };
  const rows = advertsOf(await mapped(csv, { format: 'csv', reference: 'id', members }));
  assert.deepEqual(
    rows.map(({ content }) => [known(content.property), known(content.advert)]),
    [
      [
        { propertyType: 0, transactionType: 0 },
        { elevator: true, updatedAt: '2026-03-10T00:00:00.000Z', pictures: ['https://x/1', 'https://x/2'] },
      ],
      [{ transactionType: 0 }, {}],
    ],
  );
});

test('an empty item of a list is not a picture, and the other items are kept', async () => {
  const members = { pictures: 'photos/url' };
  const xml = '<ads><ad><id>1</id><photos><url/><url>https://x/1</url><url> </url></photos></ad></ads>';
  const json = '[{"id":1,"photos":{"url":[null,"","https://x/1"]}}]';
  const csv = 'id,photos/url\n1,"[null, """", ""https://x/1""]"\n';
  for (const rows of [
    await mapped(xml, { format: 'xml', adverts: 'ads/ad', reference: 'id', members }),
    await mapped(json, { format: 'json', reference: 'id', members }),
    await mapped(csv, { format: 'csv', reference: 'id', members }),
  ])
    assert.deepEqual(advertsOf(rows)[0]?.content.advert.pictures, ['https://x/1']);
});

test('a date is read day first, in Paris time, or in the order that its member names', async () => {
  const seen = async (dates: string | undefined, ...written: readonly string[]) => {
    const members = { updatedAt: { path: 'seen', dates }, title: 'id' };
    const csv = `id,seen\n${written.map((each, at) => `${at},${each}`).join('\n')}\n`;
    const rows = advertsOf(await mapped(csv, { format: 'csv', reference: 'id', members }));
    return rows.map(({ content, losses }) => content.advert.updatedAt ?? losses[0]?.fault);
  };
  assert.deepEqual(
    await seen(undefined, '10/03/2026', '1-7-2026 14:30', '29.03.2026 à 03h30', '31/02/2026', '03/25/2026', '10/03/26'),
    [
      '2026-03-10T00:00:00.000Z',
      '2026-07-01T12:30:00.000Z',
      '2026-03-29T01:30:00.000Z',
      'not a date',
      'not a date',
      'not a date',
    ],
  );
  assert.deepEqual(await seen('MM/dd/yyyy', '03/10/2026 14:30:05', '25/03/2026', '2026-03-10'), [
    '2026-03-10T13:30:05.000Z',
    'not a date',
    '2026-03-10T00:00:00.000Z',
  ]);
  assert.deepEqual(await seen('yyyyMMdd', '20260310'), ['2026-03-10T00:00:00.000Z']);
  const ofNoMonth = await seen(undefined, '2026-02-30', '2026-04-31T10:00+02:00', '2024-02-29');
  assert.deepEqual(ofNoMonth, ['not a date', 'not a date', '2024-02-29T00:00:00.000Z']);
  await assert.rejects(seen('MM/dd/yy', '03/10/26'), /updatedAt: `dates` must be an order of yyyy, MM and dd/);
  const price = { format: 'csv', reference: 'id', members: { price: { path: 'price', dates: 'MM/dd/yyyy' } } };
  assert.throws(() => mapped('', price), /price: `dates` must be an order of yyyy/);
});

test('a floor such as "3e étage sur 5" gives floor and number of floors, unless the file states the number', async () => {
  const members = { floor: 'floor', floorQuantity: { path: 'floors', optional: true }, title: 'id' };
  const csv = 'id,floor,floors\n1,3e étage sur 5,\n2,RDC/4,6\n3,R+2,\n';
  const ofMapping = advertsOf(await mapped(csv, { format: 'csv', reference: 'id', members }));
  const file = polirisFile([
    { 2: '1', 3: 'vente', 24: '3e étage sur 5' },
    { 2: '2', 3: 'vente', 24: 'RDC/4', 25: '6' },
    { 2: '3', 3: 'vente', 24: 'R+2', 25: '0' },
  ]);
  for (const rows of [ofMapping, advertsOf(await poliris(file))]) {
    const floors = rows.map(({ content: { advert } }) => known({ floor: advert.floor, of: advert.floorQuantity }));
    assert.deepEqual(floors, [{ floor: 3, of: 5 }, { floor: 0, of: 6 }, {}]);
    assert.deepEqual(rows[2]?.losses, [{ member: 'floor', fault: 'not a number', value: '"R+2"' }]);
  }
});

test('a CSV row with more values than columns is refused, because any of them may be shifted', async () => {
  const mapping = { format: 'csv', reference: 'id', members: { title: 'title', price: 'price' } };
  const rows = await mapped('id,title,price\n1,House, garden,100\n2,House,200,\n3,Flat,300\n', mapping);
  assert.deepEqual(readingsOf(rows), [
    [2, null, 'the row has 4 values for 3 columns'],
    [3, '2', { title: 'House', price: 200 }],
    [4, '3', { title: 'Flat', price: 300 }],
  ]);
});

test('a quotation mark within a value affects only its own row', async () => {
  const mapping = { format: 'csv', reference: 'id', members: { title: 'title', price: 'price' } };
  const rows = await mapped(
    'id,title,price\n1,Flat "A",100\n2,"Flat "B" x",200\n3,"Flat ""C""",300\n4,"Flat, open,400\n5,"D",500\n6,E,600\n',
    mapping,
  );
  const reason = 'a quotation mark within a value is not doubled';
  assert.deepEqual(readingsOf(rows.toSorted((a, b) => a.line - b.line)), [
    [2, null, reason],
    [3, null, reason],
    [4, '3', { title: 'Flat "C"', price: 300 }],
    [6, null, reason],
    [7, '6', { title: 'E', price: 600 }],
  ]);
  await assert.rejects(
    mapped('id,title,price\n1,A,1\n2,"Flat,100\n3,A,200\n', mapping),
    /Cannot read the CSV: Quote Not Closed/,
  );
  await assert.rejects(mapped('id,ti"tle,price\n1,A,1\n', mapping), /Cannot read the CSV/);
  await assert.rejects(
    mapped(`id,title,price\n1,A,1\n2,${'a"'.repeat(201)},1\n`, mapping),
    /Line 3 has more than 200 quotation marks within values\. Double each of them\./,
  );
  assert.equal((await mapped(`id,title,price\n1,A,1\n2,${'a"'.repeat(200)},1\n`, mapping)).length, 2);
});

test('the first of several CSV columns with the same name counts, and columns without a name are ignored', async () => {
  const mapping = { format: 'csv', reference: 'id', members: { title: 'title' } };
  const [row] = advertsOf(await mapped('id,title,,,title\n1,House,a,b,c\n', mapping));
  assert.deepEqual([row?.reference, row?.content.advert], ['1', { title: 'House' }]);
});

test('the names kept to suggest one for a wrong path are limited, for a file whose keys differ in each advert', async () => {
  const mapping = { format: 'ndjson', reference: 'id', members: { title: 'titel' } };
  const fileOf = (count: number) =>
    Array.from({ length: count }, (_, at) => JSON.stringify({ id: at, [at === count - 1 ? 'title' : `key-${at}`]: 1 }));
  await assert.rejects(mapped(fileOf(5_000).join('\n'), mapping), /titel \(the nearest one is title\)/);
  await assert.rejects(mapped(fileOf(15_000).join('\n'), mapping), /No advert has titel\. Correct/);
});

test('an invalid mapping is reported, with the nearest name of a misspelt one', async () => {
  const mapping = { format: 'csv', reference: 'id', members: { title: 'titel' } };
  await assert.rejects(mapped('id,title\n1,x\n', mapping), /No advert has titel \(the nearest one is title\)/);
  await assert.rejects(
    mapped('{"id":1,"a":{"title":"x"}}', { ...mapping, format: 'ndjson', members: { title: 'a/titel' } }),
    /nearest one is a\/title/,
  );
  assert.equal(
    (await mapped('{"id":1}', { ...mapping, format: 'ndjson', members: { title: { path: 't', optional: true } } }))
      .length,
    1,
  );
  const parse = (value: unknown) => () => parseMapping(JSON.stringify(value), 'm.json');
  assert.throws(
    parse({ ...mapping, members: { prise: 'x' } }),
    /prise is not a member of an advert; the nearest one is price/,
  );
  assert.throws(parse({ ...mapping, membres: {} }), /nearest one is members/);
  assert.throws(parse({ ...mapping, format: 'yaml' }), /format/);
  assert.throws(parse({ ...mapping, format: 'xml' }), /`adverts` must name the element/);
  assert.throws(() => parseMapping('{', 'm.json'), /m\.json is not valid JSON/);
});

test('truncated files of every format are refused', async () => {
  const mapping = { reference: 'id', members: { title: { path: 't', optional: true } } };
  await assert.rejects(mapped('id,t\n1,x\n2', { format: 'csv', ...mapping }), /cut off\. Line 3: .* 1 values for 2/);
  await assert.rejects(mapped('id,t\n1,x\n2,"abc', { format: 'csv', ...mapping }), /Cannot read the CSV/);
  await assert.rejects(mapped('{"id":1}\n{"id":', { format: 'ndjson', ...mapping }), /The last line, 2, is cut off/);
  await assert.rejects(mapped('[{"id":1},{"id"', { format: 'json', ...mapping }), /Cannot read the JSON.*[^.]\.$/);
  await assert.rejects(
    mapped('<a><b><id>1</id></b><b>', { format: 'xml', adverts: 'a/b', ...mapping }),
    /Cannot read the XML/,
  );
  const cut = Buffer.from('id,t\n1,é\n').subarray(0, -2);
  await assert.rejects(mapped(cut, { format: 'csv', ...mapping }), /not utf-8 throughout: it is cut off/);
  const rows = await mapped('{"id":1}\nnot json\n{"t":"x"}\n{"id":3}\n', { format: 'ndjson', ...mapping });
  assert.deepEqual(tuplesOf(rows, 'kind', 'line'), [
    ['advert', 1],
    ['complaint', 2],
    ['complaint', 3],
    ['advert', 4],
  ]);
});

test('an XML bomb is a complaint about its advert, and deep nesting and endless values are refused with a reason', async () => {
  const xml = { format: 'xml', adverts: 'a/b', reference: 'id', members: {} };
  const levels = Array.from({ length: 9 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('');
  const bomb = `<!DOCTYPE a [<!ENTITY l0 "lol">${levels}]><a><b><id>&l9;</id></b></a>`;
  const reason = 'the advert contains a character or an entity that XML does not allow';
  assert.deepEqual(await mapped(bomb, xml), [{ kind: 'complaint', line: 1, reference: null, reason }]);
  await assert.rejects(mapped('<a>'.repeat(100_000), xml), /nests deeper than 64 levels/);
  await assert.rejects(
    mapped('['.repeat(100_000), { ...xml, format: 'json', adverts: undefined }),
    /nests deeper than 64 levels/,
  );
  async function* endless(start: string): AsyncGenerator<Buffer> {
    yield Buffer.from(start);
    for (let count = 0; count < 100; count++) yield Buffer.alloc(1_000_000, 0x41);
    assert.fail('read to its end');
  }
  const parsed = (format: string) => parseMapping(JSON.stringify({ ...xml, format }), 'm');
  for (const start of ['<a><b><id>', '<a>', '<a><!--'])
    await assert.rejects(all(readMapped(endless(start), parsed('xml'))), /has no end/);
  for (const start of ['{"a":{"b":[{"id":"', '{"z":"'])
    await assert.rejects(all(readMapped(endless(start), parsed('json'))), /has no end/);
  for (const start of ['id,t\n1,"', 'id'])
    await assert.rejects(all(readMapped(endless(start), parsed('csv'))), /Cannot read the CSV/);
});

test('values outside the contract’s limits are left out with a notice, and the advert is kept', () => {
  const notices: string[] = [];
  const content = {
    property: { room: 2.5, locations: { lat: 91, lon: 6 }, city: { zipcode: '83600' } },
    advert: { price: -5, surface: 40, contact: { phone: 'x'.repeat(100_001), name: 'A' }, pictures: ['\ud800'] },
  };
  assert.deepEqual(
    withinBounds(content, ({ member }) => notices.push(member)),
    {
      property: { city: { zipcode: '83600' } },
      advert: { surface: 40, contact: { name: 'A' } },
    },
  );
  assert.deepEqual(notices.sort(), ['contact.phone', 'locations', 'locations.lat', 'pictures', 'price', 'room']);
});

const CASES = fileURLToPath(new URL('../cases/', SHARED_DATA));

/** The price of each row, read from a mapped CSV with these values. */
async function pricesOf(values: readonly string[], options: object = {}): Promise<readonly unknown[]> {
  const csv = `id;price\n${values.map((value, at) => `${at + 1};${value}`).join('\n')}\n`;
  const members = { price: 'price', title: 'id' };
  const mapping = { format: 'csv', delimiter: ';', reference: 'id', members, ...options };
  return advertsOf(await mapped(csv, mapping)).map(({ content }) => content.advert.price);
}

test('a number may have currencies, units and blanks, and other text is not a number', async () => {
  const price = {
    '350 000': 350_000,
    '189\u202f000 €': 189_000,
    '250000 EUR': 250_000,
    '€ 1,250,000.50': 1_250_000.5,
    "1'250'000": 1_250_000,
    '1.250.000,-': 1_250_000,
    '1.250,- €': 1_250,
    '1 200 €/mois CC': 1_200,
    '250 000,00 € TTC': 250_000,
    '250.': 250,
    'nous consulter': undefined,
    '£250,000': undefined,
    'CHF 1 250 000': undefined,
    '250 k€': undefined,
    '1 200 €/m²': undefined,
    '12 34': undefined,
    '1.250.00': undefined,
    '12,50,000': undefined,
  };
  assert.deepEqual(await pricesOf(Object.keys(price)), Object.values(price));
  const numbers = createNumberReader();
  for (const [member, text, number] of [
    ['surface', '62,5 m²', 62.5],
    ['surface', '0.500', 0.5],
    ['surface', '1234.567', 1_234.567],
    ['energy.value', '230 kWh/m²/an', 230],
    ['greenHouseGas.value', '12 kg CO2/m²/an', 12],
    ['feesPercentage', '4,5 %', 4.5],
    ['locations.lat', '43.123', 43.123],
    ['locations.lon', '-6,123', -6.123],
    ['room', '3 pièces', 3],
    ['floor', '-1', -1],
    ['floor', 'RDC surélevé', 0],
    ['floor', '1er', 1],
    ['floor', 'Au 2ème étage', 2],
    ['floor', '3º', 3],
    ['floor', '4 / 5', 4],
    ['floorQuantity', '3e étage sur 5', 5],
    ['floorQuantity', '6 étages', 6],
  ] as const)
    assert.equal(numbers.read(text, member), number, text);
  for (const text of ['120 sq ft', '120 €', '2²', '1,2 ha', 'RDC', '4/5'])
    assert.equal(numbers.read(text, 'surface'), 'not a number', text);
  for (const text of ['R+2', 'entresol', 'dernier étage', '3 étages', '1er et 2e'])
    assert.equal(numbers.read(text, 'floor'), 'not a number', text);
  assert.equal(numbers.read('RDC', 'floorQuantity'), 'not a number');
});

test('a price whose currency is in another member is read if in euros, and is otherwise unknown with a notice', async () => {
  const mappingOf = (format: string, path: string, currency: string) => ({
    format,
    adverts: 'r/a',
    reference: 'id',
    members: { title: 'id', price: { path, currency } },
  });
  const csv = 'id,price,currency\n1,100,EUR\n2,100,GBP\n3,100,€\n4,100,\n';
  const xml =
    '<r><a><id>1</id><price currency="eur">100</price></a><a><id>2</id><price currency="GBP">100</price></a>' +
    '<a><id>3</id><price currency="Euro">100</price></a><a><id>4</id><price>100</price></a></r>';
  for (const [file, mapping] of [
    [csv, mappingOf('csv', 'price', 'currency')],
    [xml, mappingOf('xml', 'price', 'price/@currency')],
  ] as const) {
    const rows = advertsOf(await mapped(file, mapping));
    assert.deepEqual(
      rows.map(({ content }) => content.advert.price),
      [100, undefined, 100, 100],
    );
    assert.deepEqual(
      rows.flatMap(({ losses }) => losses),
      [{ member: 'price', fault: 'in a currency other than euro', value: '"100 GBP"' }],
    );
  }
  await assert.rejects(mapped(csv, mappingOf('csv', 'price', 'curency')), /nearest one is currency/);
});

test('an ambiguous number is read by the mapping, or else by the habit of the source’s other numbers, or else left out', async () => {
  const ambiguous = ['350.000', '99,990'];
  assert.deepEqual(await pricesOf(ambiguous), [undefined, undefined]);
  assert.deepEqual(await pricesOf(ambiguous, { decimal: ',' }), [350_000, 99.99]);
  assert.deepEqual(await pricesOf(ambiguous, { decimal: '.' }), [350, 99_990]);
  const read = (habits: DecimalHabits, values: readonly (readonly [string, string])[]) => {
    const numbers = createNumberReader(habits);
    const found = values.map(([member, text]) => numbers.read(text, member));
    return { found: found.map((each) => (typeof each === 'number' ? each : null)), numbers };
  };
  const german = read({}, [
    ['price', '350.000'],
    ['surface', '62,5'],
  ]);
  assert.deepEqual([german.found, german.numbers.isOutdated()], [[null, 62.5], true]);
  const habits = german.numbers.learned();
  assert.deepEqual(read(habits, [['price', '350.000']]).found, [350_000]);
  assert.deepEqual(read(habits, [['landSurface', '1,250']]).found, [1.25]);
  // One value in another notation, among many, is not evidence.
  const mixed = read(habits, [...Array.from({ length: 9 }, () => ['surface', '62,5'] as const), ['surface', '62.5']]);
  assert.deepEqual(mixed.numbers.learned(), habits);
  // A single value without others on that day is no evidence either, because the others may be gone.
  const stray = read(habits, [
    ['energy.value', '120.5'],
    ['price', '350.000'],
    ['landSurface', '1.250'],
  ]);
  assert.deepEqual([stray.found, stray.numbers.isOutdated()], [[120.5, 350_000, 1_250], false]);
  // Ten values are evidence, but only for members that have not been read by the habit before.
  const lively = (value: string) => Array.from({ length: 10 }, () => ['surface', value] as const);
  const british = read(stray.numbers.learned(), lively('62.5')).numbers.learned();
  assert.deepEqual(
    read(british, [
      ['priceExcludingFees', '350,000'],
      ['inventoryPrice', '1.250'],
      ['landSurface', '1.250'],
      ['price', '350.000'],
    ]).found,
    [350_000, null, 1_250, 350_000],
  );
  // The habit counts as a hundredth of the values that it has read: ten values are evidence against a hundred, but not
  // against one more.
  for (const [count, sign] of [
    [100, '.'],
    [101, ','],
  ] as const) {
    const grouped = Array.from({ length: count }, () => ['surface', '1.250'] as const);
    assert.equal(read(habits, [...lively('62.5'), ...grouped]).numbers.learned().surface, sign);
  }
  // No price has three decimals, regardless of the notation of a source's surfaces.
  assert.deepEqual(
    read({ '': '.' }, [
      ['price', '350.000'],
      ['surface', '99.990'],
    ]).found,
    [null, 99.99],
  );
});

test('the kinds of property and of sale are read from their words, and other words are unknown', async () => {
  const words = [
    ['vente', 'appartement', 0, 0],
    ['Ventes', 'maison avec terrain', 0, 1],
    ['vente', 'modèle de maison', 0, 1],
    ['Vente de prestige', 'Château', 0, 1],
    ['viager', 'immeuble', 0, 2],
    ['Locations', 'bâtiment', 1, 2],
    ['location vacances', 'parking/box', 1, 3],
    ['cession de bail', 'bureaux', null, 4],
    ["produit d'investissement", 'terrain', null, 5],
    ['vente fonds de commerce', 'Boutique', null, 6],
    ['', 'péniche', null, null],
    ['échange', 'entreprises', null, null],
  ] as const;
  const file = polirisFile(words.map(([sale, kind], at) => ({ 2: `R${at}`, 3: sale, 4: kind, 20: 'Villa' })));
  const found = advertsOf(await poliris(file)).map(({ content }) => content.property);
  assert.deepEqual(
    tuplesOf(found, 'transactionType', 'propertyType'),
    words.map(([, , transaction, property]) => [transaction, property]),
  );
});

test('words outside of SeLoger’s list are reported with their member', async () => {
  const rows = advertsOf(
    await poliris(
      polirisFile([
        { 2: 'R1', 3: 'Ventes', 4: 'maison avec terrain', 11: '250 000 €', 26: 'O' },
        { 2: 'R2', 3: 'Locations', 4: 'bâtiment', 26: 'N', 85: '230.jpg', 86: 'https://x/1' },
        { 2: 'R3', 3: 'vente', 4: 'modèle de maison' },
        { 2: 'R4', 3: 'échange', 4: 'entreprises', 11: 'nous consulter', 20: 'Villa', 5: '83600' },
        { 2: 'R5', 3: 'cession de bail', 4: 'inconnu', 26: 'peut-être', 11: '£250,000' },
      ]),
    ),
  );
  const furnished = rows.map(({ content }) => content.advert.furnished);
  assert.deepEqual(furnished, [true, false, null, null, null]);
  assert.deepEqual(
    rows.map(({ losses }) => losses.map(({ member, value, fault }) => `${member}: ${value} is ${fault}`)),
    [
      [],
      ['pictures: "230.jpg" is not a web address'],
      [],
      [
        'transactionType: "échange" is not a known word',
        'propertyType: "entreprises" is not a known word',
        'price: "nous consulter" is not a number',
      ],
      ['price: "£250,000" is in a currency other than euro', 'furnished: "peut-être" is neither OUI nor NON'],
    ],
  );
  assert.deepEqual(rows[1]?.content.advert.pictures, ['https://x/1']);
});

test('ratings and words outside the lists are unknown and reported, and those that mean "none" are not reported', async () => {
  const letters = ['A+', 'C/D', 'G+', 'H', 'Classe C', 'VI', 'ns', 'N', '', 'g'];
  const payers = ['Acquéreur', 'VENDEUR', 'charge acquéreur', '1', '2', '3', '', 'notaire'];
  const file = letters.map((letter, at) => ({
    2: `R${at}`,
    3: 'vente',
    177: letter,
    179: letter,
    302: payers[at] ?? '',
  }));
  const rows = advertsOf(await poliris(polirisFile(file)));
  const adverts = rows.map(({ content }) => known(content.advert) as Loose);
  const ratings = adverts.map(({ energy, greenHouseGas }) => [energy?.category, greenHouseGas?.category]);
  assert.deepEqual(
    ratings,
    letters.map((letter) => (letter === 'g' ? ['G', 'G'] : [undefined, undefined])),
  );
  const paying = valuesOf(adverts.slice(0, payers.length), 'feesResponsibility');
  assert.deepEqual(paying, [1, 0, 1, 1, 0, undefined, undefined, undefined]);
  const told = rows.flatMap(({ losses }) => losses).map(({ member, fault, value }) => `${member} ${value} ${fault}`);
  const expected = letters
    .slice(0, 5)
    .flatMap((letter) => ['energy', 'greenHouseGas'].map((name) => `${name}.category "${letter}" not a valid code`));
  assert.deepEqual(told, [...expected, 'feesResponsibility "notaire" not a known word']);
});

test('a repeated header line is not an advert, and a row without any readable value is not published', async (t) => {
  if (!existsSync(`${CASES}05-poliris-header/header.csv`)) return t.skip('the case is not here');
  const rows = await poliris(readFileSync(`${CASES}05-poliris-header/header.csv`));
  assert.deepEqual(
    rows.map(({ kind, line }) => `${kind} ${line}`),
    ['left out 1', 'advert 2', 'advert 3'],
  );
  const [row] = await poliris(polirisFile([{ 2: 'R1', 3: 'abc', 4: 'def', 11: 'ghi' }]).subarray(0));
  assert.equal(row?.kind, 'left out');
  const later = await poliris(
    polirisFile([
      { 2: 'R1', 3: 'vente' },
      { 2: 'R2', 3: 'abc', 4: 'def', 11: 'ghi' },
    ]),
  );
  assert.deepEqual([later[1]?.kind, later[1]?.reference], ['complaint', 'R2']);
  const csv = { format: 'csv', reference: 'id', members: { price: 'price' } };
  const again = await mapped('id,price\n1,100\nid,price\n2,nous consulter\n', csv);
  assert.deepEqual(valuesOf(again, 'kind'), ['advert', 'left out', 'complaint']);
  assert.deepEqual(readingsOf(again), [
    [2, '1', { price: 100 }],
    [3, null, 'the row names columns'],
    [4, '2', 'none of the values is understood'],
  ]);
});

test('an invalid XML character affects only its advert, and HTML entities are read', async () => {
  const xml = { format: 'xml', adverts: 'ads/ad', reference: 'id', members: { title: 't', url: 'u' } };
  const texts = [
    'Bed & Breakfast, vue&nbsp;mer &#55356;&#57306; &#xD83D;&#xDE00;',
    '<![CDATA[R&D & <b>co</b>]]> 1 < 2 &euro; &#128;<!-- & -->',
    'caf&eacute; &lt;b&gt; &amp;',
    'a &ouml;&unknown; b',
    'a &#55356; b',
    'a \u000b b',
  ];
  const ads = texts.map((text, at) => `<ad><id>${at}</id><t>${text}</t><u>https://x/?a=1&b=2&copy=3</u></ad>`);
  for (const size of [1, 7, 1_000]) {
    const bytes = chunksOf(Buffer.from(`<ads>${ads.join('')}</ads>`), size);
    const rows = await all(readMapped(bytes, parseMapping(JSON.stringify(xml), 'm')));
    assert.deepEqual(
      rows.map((row) => (row.kind === 'advert' ? row.content.advert.title : `${row.kind} ${row.reference}`)),
      ['Bed & Breakfast, vue mer 🏚 😀', 'R&D & co 1 < 2 € €', 'café &', 'complaint 3', 'complaint 4', 'complaint 5'],
    );
    assert.equal((rows[0] as AdvertRow).content.advert.url, 'https://x/?a=1&b=2&copy=3');
  }
});

test('an invalid byte affects only its advert, in every format', async () => {
  const members = { title: 't' };
  const files = {
    csv: ['id,t\n1,a\n2,b\xff\n3,c\n', {}],
    ndjson: ['{"id":1,"t":"a"}\n{"id":2,"t":"b\xff"}\n{"id":3,"t":"c"}\n', {}],
    json: ['[{"id":1,"t":"a"},{"id":2,"t":"b\xff"},{"id":3,"t":"c"}]', {}],
    xml: ['<x><y><id>1</id><t>a</t></y><y><id>2</id><t>b\xff</t></y><y><id>3</id><t>c</t></y></x>', { adverts: 'x/y' }],
  } as const;
  for (const [format, [text, options]] of Object.entries(files)) {
    const rows = await mapped(Buffer.from(text, 'latin1'), { format, reference: 'id', members, ...options });
    assert.deepEqual(kindsOf(rows), ['advert 1', 'complaint 2', 'advert 3'], format);
  }
});

test('a mapping selects one of several items, and the rows to read', async () => {
  const mapping = (name: string): object => JSON.parse(readFileSync(`${ROOT}/config/${name}`, 'utf8'));
  const apimo = {
    properties: [
      {
        id: 12,
        category: 1,
        type: 1,
        status: 1,
        price: { value: 350_000, currency: 'EUR' },
        comments: [
          { language: 'en', title: 'Sea view flat', comment: 'sea view' },
          { language: 'fr', title: 'Appartement vue mer', comment: 'vue mer' },
        ],
        pictures: [{ rank: 1, url: 'https://x/1' }],
      },
      { id: 13, category: 1, type: 2, status: 30, price: { value: 1 }, comments: [] },
    ],
  };
  const rows = await mapped(JSON.stringify(apimo), { ...mapping('apimo-mapping.json') });
  assert.deepEqual(
    rows.map((row) => (row.kind === 'advert' ? known(row.content.advert) : row.kind)),
    [{ title: 'Appartement vue mer', description: 'vue mer', price: 350_000, pictures: ['https://x/1'] }, 'left out'],
  );
  const item = (id: number, status: string, meta: string) =>
    `<item><title>Villa</title><wp:post_id>${id}</wp:post_id><wp:status>${status}</wp:status><wp:post_type>property</wp:post_type>` +
    `<content:encoded><![CDATA[<p>Vue mer</p>]]></content:encoded>` +
    `<category domain="property_type" nicename="villa"><![CDATA[Villa]]></category>` +
    `<category domain="property_status" nicename="a-vendre"><![CDATA[À vendre]]></category>${meta}</item>`;
  const meta = (key: string, value: string) =>
    `<wp:postmeta><wp:meta_key><![CDATA[${key}]]></wp:meta_key><wp:meta_value><![CDATA[${value}]]></wp:meta_value></wp:postmeta>`;
  const wordpress = `<rss><channel><title>x</title>${item(7, 'publish', meta('fave_property_size', '120') + meta('fave_property_price', '450 000 €'))}${item(8, 'draft', '')}</channel></rss>`;
  const [villa, draft] = await mapped(wordpress, mapping('wordpress-mapping.json'));
  assert.equal(draft?.kind, 'left out');
  const { property, advert } = (villa as AdvertRow).content;
  assert.deepEqual(known(property), { transactionType: 0, propertyType: 1 });
  assert.deepEqual(known(advert), { title: 'Villa', description: 'Vue mer', price: 450_000, surface: 120 });
});
