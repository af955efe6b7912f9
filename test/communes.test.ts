/** The reference of communes, departments and zip codes, and how it resolves a stated place. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { StatedPlace } from '../src/engine/domain/city.ts';
import { cityIdOf, inseeOf } from '../src/engine/reference/commune-records.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';
import { cityReference, departmentDocument } from '../src/rest/search-document.ts';

const NOWHERE: StatedPlace = { insee: null, zipcode: null, name: null, lat: null, lon: null };

describe('communes of France', () => {
  let reference: Reference;
  before(async () => {
    reference = await loadReference();
  });

  it('has every commune and arrondissement under a stable, reversible id', () => {
    const ids = new Set<number>();
    for (const city of reference.cities()) {
      ids.add(city.id);
      assert.equal(inseeOf(city.id), city.insee);
      assert.equal(reference.cityById(city.id), city);
      assert.equal(reference.city(city.insee), city);
    }
    assert.equal(ids.size, 34_969 + 45);
    assert.equal(cityIdOf('2A004'), 120_004);
    assert.equal(cityIdOf('2B033'), 220_033);
    assert.equal(cityIdOf('01001'), 1001);
  });

  it('gives a commune all the members of a property document', () => {
    assert.deepEqual(reference.city('83137'), {
      id: 83_137,
      cityParentId: null,
      insee: '83137',
      name: 'Toulon',
      originalName: 'Toulon',
      zipcode: '83000',
      country: { code: 'FR', id: 250, name: 'France' },
      department: { code: '83', id: 83, name: 'Var' },
      region: { code: '93', id: 93, name: "Provence-Alpes-Côte d'Azur" },
      groupedCityNames: ['Toulon'],
      groupedCityZipcodes: ['83000', '83100', '83200'],
      hasGroupedByName: false,
      hasGroupedByZipcode: true,
      open: true,
      location: { lat: 43.1362, lon: 5.9324 },
    });
  });

  it('links arrondissements to their commune', () => {
    const fifteenth = reference.city('75115');
    assert.equal(fifteenth?.name, 'Paris 15e');
    assert.equal(fifteenth?.originalName, 'Paris 15e Arrondissement');
    assert.equal(fifteenth?.cityParentId, 75_056);
    assert.equal(reference.city('75056')?.groupedCityZipcodes.length, 21);
    assert.equal(reference.city('75056')?.groupedCityNames.length, 20);
  });

  it('resolves the code of a merged commune to the current commune', () => {
    assert.equal(reference.city('49162')?.insee, '49023');
    assert.equal(reference.cityById(49_162), null);
    const place = reference.resolvePlace({ ...NOWHERE, insee: '49162' });
    assert.deepEqual(place?.inseeCodes, ['49023', '49162']);
  });

  it('has departments and regions, including Corsica and the overseas collectivities', () => {
    assert.equal(reference.departments().length, 109);
    assert.equal(reference.department('2A')?.id, 201);
    assert.equal(reference.departmentById(202)?.name, 'Haute-Corse');
    assert.equal(reference.department('988')?.region.name, 'Nouvelle-Calédonie');
    assert.equal(reference.department('00'), null);
    const gold = reference.department('21');
    assert.ok(gold);
    assert.deepEqual(departmentDocument(gold), {
      '@context': '/contexts/Department',
      '@id': '/departments/21',
      '@type': 'Department',
      chefLieu: '21231',
      departmentCode: '21',
      name: "Côte-d'Or",
      nameClean: 'cote-d-or',
    });
  });

  it('embeds a commune with its article', () => {
    const embedded = (insee: string) => {
      const city = reference.city(insee);
      assert.ok(city);
      return cityReference(city);
    };
    assert.deepEqual(embedded('01001'), {
      article: "L'",
      insee: '01001',
      libelle: "L'Abergement-Clémenciat",
      name: "L'Abergement-Clémenciat",
      zipcode: '01400',
    });
    assert.equal(embedded('72181').article, 'Le');
    assert.equal(embedded('17300').article, 'La');
    assert.equal(embedded('83137').article, '');
    assert.equal(embedded('75115').libelle, 'Paris 15e Arrondissement');
  });

  it('gives a centre to every commune and arrondissement', () => {
    const lost = [...reference.cities()].filter(({ location }) => location === null);
    assert.deepEqual(lost, []);
    assert.deepEqual(reference.city('69123')?.location, { lat: 45.758, lon: 4.832 });
    // This commune is newer than La Poste's list, so its centre is derived from its former communes.
    assert.ok(reference.city('49126')?.location);
  });

  it('finds every arrondissement by its centre, and Paris 12e by a point in the Bois de Vincennes', () => {
    const arrondissements = [...reference.cities()].filter(({ cityParentId }) => cityParentId !== null);
    assert.equal(arrondissements.length, 45);
    for (const { insee, location } of arrondissements) {
      assert.ok(location, insee);
      assert.equal(reference.resolvePlace({ ...NOWHERE, ...location })?.city?.insee, insee);
    }
    const inThePark = { ...NOWHERE, lat: 48.833, lon: 2.42 };
    assert.equal(reference.resolvePlace(inThePark)?.city?.insee, '75112');
  });

  describe('the place an advert states', () => {
    const cases: readonly (readonly [string, Partial<StatedPlace>, string | null])[] = [
      ['INSEE code', { insee: '83137' }, '83137'],
      ['INSEE code without its leading zero', { insee: '1001' }, '01001'],
      ['INSEE code of Corsica in lower case', { insee: '2a004' }, '2A004'],
      ['INSEE code before a contradicting zip code', { insee: '83137', zipcode: '75015' }, '83137'],
      ['Paris with the zip code of an arrondissement', { insee: '75056', zipcode: '75015' }, '75115'],
      ['Paris alone', { insee: '75056' }, '75056'],
      ['unknown INSEE code, then zip code', { insee: '99999', zipcode: '75116' }, '75116'],
      ['zip code of one commune', { zipcode: '83000' }, '83137'],
      ['code of a commune merged without a delegated one', { insee: '85060' }, '85194'],
      ['75000 Paris', { zipcode: '75000', name: 'Paris' }, '75056'],
      ['69000 Lyon', { zipcode: '69000', name: 'LYON' }, '69123'],
      ['75000 Paris at coordinates', { zipcode: '75000', name: 'Paris', lat: 48.84, lon: 2.293 }, '75115'],
      ['CEDEX', { zipcode: '83056', name: 'TOULON CEDEX' }, '83137'],
      ['CEDEX of a name that other departments have', { zipcode: '93205', name: 'Saint-Denis Cedex' }, '93066'],
      ['name that one commune has', { name: 'Bormes-les-Mimosas' }, '83019'],
      ['name that several have', { name: 'Saint-Denis' }, null],
      ['name that one commune has and another had', { name: 'Évry' }, null],
      ['name that one had, with its department', { name: 'Évry (91)' }, '91228'],
      ['beginning of a name, with its department', { name: 'Saint-Maur (94)' }, '94068'],
      ['zip code before the name', { name: '83000 Toulon' }, '83137'],
      ['name of several and zip code in one', { name: 'Saint-Denis 93200' }, '93066'],
      ['name before its department', { name: 'saint denis réunion' }, '97411'],
      ['name that ends like a department', { name: 'Villeneuve-sur-Lot' }, '47323'],
      ['Roman number', { name: 'Paris XV' }, '75115'],
      ['ordinal number', { name: 'lyon 3eme' }, '69383'],
      ['name before renaming', { name: 'Châlons-sur-Marne' }, '51108'],
      ['name of a city that a locality elsewhere has', { name: 'Bordeaux' }, '33063'],
      ['name without its article', { name: 'Havre' }, '76351'],
      ['former commune by its name alone', { name: "Château-d'Olonne" }, '85194'],
      ['locality', { zipcode: '20166', name: 'porticcio' }, '2A130'],
      ['locality at coordinates near Ajaccio', { zipcode: '20166', name: 'porticcio', lat: 41.9, lon: 8.75 }, '2A130'],
      ['unknown name, zip code and coordinates', { zipcode: '20166', name: 'Agosta', lat: 41.92, lon: 8.74 }, '2A130'],
      [
        'zip code of several, coordinates between',
        { zipcode: '01400', name: 'Hameau', lat: 46.16, lon: 4.93 },
        '01001',
      ],
      [
        'name near coordinates before another zip code',
        { zipcode: '83000', name: 'La Garde', lat: 43.13, lon: 6.01 },
        '83062',
      ],
      ['name far from coordinates', { name: 'La Garde', lat: 48.58, lon: 7.75 }, '67482'],
      ['coordinates far from the zip code', { zipcode: '83000', lat: 48.58, lon: 7.75 }, '67482'],
      [
        'name within the zip code before coordinates',
        { zipcode: '83000', name: 'Toulon', lat: 48.58, lon: 7.75 },
        '83137',
      ],
      ['village that has fewer than a thousand inhabitants', { lat: 46.1534, lon: 4.9261 }, '01001'],
      ['coordinates in Monaco', { lat: 43.7312, lon: 7.4197 }, null],
      ['zip code of one commune, name unknown', { zipcode: '83000', name: 'La Seyne' }, '83137'],
      ['zip code of several and no name', { zipcode: '01400' }, null],
      ['zip code of several and an unknown name', { zipcode: '01400', name: 'Nowhere' }, null],
      ['case and accents', { zipcode: '01400', name: 'CHATILLON SUR CHALARONNE' }, '01093'],
      ['article and apostrophe', { zipcode: '01400', name: 'l’abergement clemenciat' }, '01001'],
      ['St and CEDEX', { zipcode: '01400', name: 'St Georges s/ Renon CEDEX 2' }, '01356'],
      ['beginning of a name', { zipcode: '01400', name: 'Châtillon' }, '01093'],
      ['Paris 15e', { zipcode: '75015', name: 'Paris 15e' }, '75115'],
      ['PARIS', { zipcode: '75015', name: 'PARIS' }, '75115'],
      ['former commune by name', { zipcode: '49510', name: 'Jallais' }, '49023'],
      ['outline', { lat: 43.12, lon: 5.93 }, '83137'],
      ['ambiguous zip code, then the outline', { zipcode: '01400', lat: 43.12, lon: 5.93 }, '83137'],
      ['at sea', { lat: 42, lon: 6 }, null],
      ['nothing', {}, null],
      ['prototype names', { insee: '__proto__', zipcode: 'constructor', name: 'toString' }, null],
    ];
    for (const [title, place, insee] of cases) {
      it(`${title} is ${insee ?? 'no commune'}`, () => {
        assert.equal(reference.resolvePlace({ ...NOWHERE, ...place })?.city?.insee ?? null, insee);
      });
    }

    it('finds the department of a zip code that communes of one department share', () => {
      for (const [zipcode, name, department] of [
        ['13100', null, '13'],
        ['13100', 'Nowhere', '13'],
        ['20167', null, '2A'],
        ['01410', null, null],
      ] as const) {
        const place = reference.resolvePlace({ ...NOWHERE, zipcode, name });
        assert.deepEqual([place?.city, place?.departmentCode, place?.zipcodes], [null, department, [zipcode]]);
      }
      assert.equal(reference.resolvePlace({ ...NOWHERE, zipcode: '99999' }), null);
    });

    it('has the codes that a search may name, and the stated zip code', () => {
      const stated = reference.resolvePlace({ ...NOWHERE, insee: '75115', zipcode: '75015' });
      assert.deepEqual(stated?.inseeCodes, ['75115', '75056']);
      assert.deepEqual(stated?.zipcodes, ['75015']);
      const unstated = reference.resolvePlace({ ...NOWHERE, insee: '83137' });
      assert.deepEqual(unstated?.zipcodes, []);
      const cedex = reference.resolvePlace({ ...NOWHERE, insee: '83137', zipcode: '83056' });
      assert.deepEqual(cedex?.zipcodes, []);
      assert.deepEqual(reference.resolvePlace({ ...NOWHERE, insee: '75056' })?.zipcodes, []);
      assert.deepEqual(reference.resolvePlace({ ...NOWHERE, insee: '75116' })?.zipcodes, []);
      assert.deepEqual(reference.resolvePlace({ ...NOWHERE, insee: '75115' })?.zipcodes, ['75015']);
      assert.deepEqual(reference.resolvePlace({ ...NOWHERE, insee: '83062' })?.zipcodes, ['83130']);
    });

    for (const [title, place, zipcode] of [
      ['a commune with several zip codes', { insee: '33063' }, null],
      ['75000 is none of Paris', { zipcode: '75000', name: 'Paris' }, null],
      ['one that the commune does not have', { insee: '83137', zipcode: '75015' }, null],
      ['the stated one of several', { insee: '83137', zipcode: '83200' }, '83200'],
      ['the only one', { insee: '83062' }, '83130'],
    ] as const) {
      it(`shows the zip code ${zipcode}: ${title}`, () => {
        const resolved = reference.resolvePlace({ ...NOWHERE, ...place });
        assert.ok(resolved !== null);
        assert.equal(resolved.zipcode, zipcode);
      });
    }
  });

  describe('search of communes', () => {
    it('finds communes by the folded beginning of their name, with or without the article, in order of name', () => {
      const names = (namePrefix: string) => reference.findCities({ namePrefix }).cities.map(({ city }) => city.name);
      assert.deepEqual(names('chatillon sur c'), [
        'Châtillon-sur-Chalaronne',
        'Châtillon-sur-Cher',
        'Châtillon-sur-Cluses',
        'Châtillon-sur-Colmont',
      ]);
      assert.ok(names('havre').includes('Le Havre'));
      assert.ok(names('Le Havre').includes('Le Havre'));
      assert.deepEqual(names('zzz'), []);
    });
  });
});
