/** Which places complete the typed text, and in which order. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';

describe('the completion of places', () => {
  let reference: Reference;
  before(async () => {
    reference = await loadReference();
  });
  const found = (text: string, limit = 10) => reference.completePlaces(text, { offset: 0, limit });
  const namesOf = (text: string, limit?: number) =>
    found(text, limit).places.map(({ type, name }) => `${type} ${name}`);

  it('puts the most populous places first', () => {
    assert.equal(namesOf('toulo')[0], 'city Toulouse');
    assert.deepEqual(namesOf('toul').slice(0, 2), ['city Toul', 'city Toulouse']);
    assert.ok(namesOf('toul').includes('city Toulon'));
    assert.deepEqual(namesOf('paris', 2), ['city Paris', 'department Paris']);
    for (const text of ['sain', 'a', '83', 'la']) {
      const populations = found(text, 100).places.map(({ population }) => population);
      assert.ok(populations.length > 10, text);
      assert.deepEqual(
        populations,
        populations.toSorted((a, b) => b - a),
        text,
      );
    }
  });

  it('accepts beginnings of words in any order, regardless of accents, hyphens, case and abbreviations', () => {
    for (const text of ['saint-étienne', 'SAINT ETIENNE', 'etien sain', 'st etienne', 'St-Étienne']) {
      assert.equal(namesOf(text)[0], 'city Saint-Étienne', text);
    }
    assert.ok(namesOf('hay roses').includes("city L'Haÿ-les-Roses"));
    assert.equal(namesOf('œ').length > 0, true);
  });

  it('finds departments and zip codes, by name and by code', () => {
    assert.equal(namesOf('var')[0], 'department Var');
    assert.equal(namesOf('83')[0], 'department Var');
    assert.equal(namesOf('2a')[0], 'department Corse-du-Sud');
    assert.deepEqual(namesOf('83000'), ['zipcode 83000', 'city Toulon']);
    assert.equal(namesOf('83137')[0], 'city Toulon');
    const [lyon] = found('69001').places;
    assert.deepEqual([lyon?.type, lyon?.cityIds.length], ['zipcode', 1]);
    const named = ['department Seine-Saint-Denis', 'city Saint-Denis', "city L'Île-Saint-Denis"];
    assert.deepEqual(namesOf('saint denis 93'), named);
  });

  it('puts complete names first, and a commune’s own name before that of a former commune or locality', () => {
    const first = (text: string) => {
      const [place] = found(text, 1).places;
      return [place?.name, place?.matchedName];
    };
    assert.deepEqual(first('y'), ['Y', null]);
    assert.deepEqual(first('Bu'), ['Bû', null]);
    assert.deepEqual(first('havre'), ['Le Havre', null]);
    assert.deepEqual(first('seynod'), ['Annecy', 'Seynod']);
    assert.deepEqual(first('annecy le vieux'), ['Annecy', 'Annecy-le-Vieux']);
    assert.deepEqual(first('porticcio'), ['Grosseto-Prugna', 'Porticcio']);
    assert.deepEqual(first('Balmont'), ['Annecy', 'Balmont']);
    // Annecy also has this name itself, and each place is listed once.
    assert.equal(found('annecy', 100).places.filter(({ code }) => code === '74010').length, 1);
  });

  it('puts a much larger commune first if its name begins with the text or it had that name, in common spellings', () => {
    const wanted: Readonly<Record<string, readonly string[]>> = {
      '75115': ['paris 15ème', 'Paris 15e arrond', 'Paris XV', 'paris 15', '75015 Paris', 'Paris 75015'],
      '75101': ['Paris 1er arrondissement', 'paris 1', 'paris 01'],
      '69383': ['lyon 3eme', 'lyon 03', 'Lyon III'],
      '75056': ['Paris (75)', 'paris 75'],
      '13055': ['Marseille (13)'],
      '13213': ['Marseille 13', 'marseille 13e'],
      '92012': ['Boulogne'],
      '91228': ['évry', 'Évry (91)'],
      '89162': ['Évry (89)'],
      '92051': ['Neuilly'],
      '63113': ['clermont'],
      '13001': ['Aix'],
      '50353': ['mont st michel'],
      '51108': ['Châlons-sur-Marne'],
      '83137': ['Toulon (83)', '83000 Toulon', 'Toulon Var', 'toulon 83'],
      '97411': ['saint denis réunion', 'Saint-Denis de la Réunion', 'St Denis (974)'],
      '54528': ['Toul'],
      '80829': ['Y'],
      '28064': ['bu'],
      '76351': ['havre'],
      '74010': ['seynod'],
      '2A130': ['porticcio'],
      '83107': ['issambres'],
    };
    const wrong = Object.entries(wanted).flatMap(([code, texts]) =>
      texts.flatMap((text) => {
        const [place] = found(text, 1).places;
        const [listed] = reference.findCities({ namePrefix: text }).cities;
        return place?.code === code && listed?.city.insee === code ? [] : [[text, place?.name, listed?.city.name]];
      }),
    );
    assert.deepEqual(wrong, []);
  });

  it('finds nothing for text without letters and for unknown names', () => {
    for (const text of ['', ' ', '-', 'qqqq', 'toulon qqqq'])
      assert.deepEqual(found(text), { total: 0, places: [] }, text);
  });

  it('counts all results, and returns a page', () => {
    const { total } = found('saint', 1);
    assert.ok(total > 4_000);
    const second = reference.completePlaces('saint', { offset: 1, limit: 1 }).places;
    assert.deepEqual(second, found('saint', 2).places.slice(1));
  });

  it('agrees with a scan of every commune', () => {
    const words = (name: string) =>
      name
        .normalize('NFKD')
        .toLowerCase()
        .replace(/\p{M}/gu, '')
        .replace(/œ/g, 'oe')
        .split(/[^\p{L}\p{N}]+/u);
    for (const text of ['mont', 'roche', 'ville neu', 'x', 'bo']) {
      const fits = (name: string) => text.split(' ').every((part) => words(name).some((word) => word.startsWith(part)));
      const expected = [...reference.cities()].filter(({ name }) => fits(name)).map(({ insee }) => insee);
      const cities = found(text, 100_000).places.filter(({ type }) => type === 'city');
      const unfit = cities.filter(({ name, matchedName }) => !fits(matchedName ?? name));
      assert.deepEqual(unfit, [], text);
      const codes = cities.filter(({ name }) => fits(name)).map(({ code }) => code);
      assert.deepEqual(codes.toSorted(), expected.toSorted(), text);
    }
  });
});
