/** Every violation has a meaningful code, because zod's own `custom` or a default would not help a program. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Context } from 'koa';
import { valueOf } from '../src/grpc/names.ts';
import { Problem, VIOLATION_CODES, type Violation } from '../src/rest/problem.ts';
import { PAGING, readQuery } from '../src/rest/query.ts';
import { type InputRules, readNewSearch } from '../src/rest/search-input.ts';
import { SEARCH_MEMBERS } from '../src/rest/search-schema.ts';
import { decimalOf, integer } from '../src/values.ts';

const RULES = {
  reference: { city: () => null, cityById: () => null, departmentById: () => null, isZipcode: () => false },
  baseUrl: '',
  siteCategoryIds: () => Promise.resolve(new Set<number>()),
  allowPrivateEndpoints: false,
} as unknown as InputRules;

const LONG = 'x'.repeat(70_000);
const BAD = [true, 'nonsense', -1, 0.5, 1e99, 4_711, '12,5,1', {}, [{}], [[]], [[1]], [-1], ['nonsense'], LONG, [LONG]];
const EXPRESSIONS = ['expressions[0][0][options][strict]=true', 'expressions[a]=b', 'expressions[0][0][word]=&x=1'];

async function violationsOf(body: object): Promise<readonly Violation[]> {
  try {
    await readNewSearch(body, RULES, false);
    return [];
  } catch (error) {
    if (error instanceof Problem) return error.violations;
    throw error;
  }
}

/** Codes of zod, which another library would not have. */
const OF_ZOD = new Set(['custom', 'invalid_union', 'too_big', 'too_small', 'unrecognized_keys']);

describe('the code of a violation', () => {
  it('is the same for the same fault, and names the limit that was exceeded', async () => {
    for (const [body, code] of [
      [{ subscribedEvents: ['nonsense'] }, 'invalid_value'],
      [{ notificationFrequency: 'nonsense' }, 'invalid_value'],
      [{ propertyTypes: [4_711] }, 'invalid_value'],
      [{ roomMin: -1 }, 'below_minimum'],
      [{ roomMin: 1e15 }, 'above_maximum'],
      [{ endpointRecipient: LONG }, 'too_long'],
    ] as const) {
      const codes = (await violationsOf(body)).map((violation) => violation.code);
      assert.deepEqual([body, [...new Set(codes)]], [body, [code]]);
    }
  });

  it('has one message, the same for a member, a query parameter and a field of an RPC', async () => {
    const sentence = (min: number, max: number) => `must be an integer from ${min} to ${max}`;
    for (const floorMin of ['x', 1.5, -101, 1_001, 1e99]) {
      const said = (await violationsOf({ floorMin })).map(({ message }) => message.en);
      assert.deepEqual([floorMin, said], [floorMin, [sentence(-100, 1_000)]]);
    }
    const ctx = { querystring: 'page=0', path: '/searches', state: {} } as Context;
    assert.throws(() => readQuery(ctx, PAGING), { message: `page ${sentence(1, 10_000_000)}` });
    assert.throws(() => valueOf('page_size', integer(1, 50), 51), { message: `page_size ${sentence(1, 50)}` });
  });

  it('has, for an unknown reference, a message that names the list of existing ones', async () => {
    for (const [body, place] of [
      [{ includedCities: ['/cities/1'] }, '/cities'],
      [{ includedDepartments: ['/departments/999'] }, '/departments'],
      [{ excludedSiteCategories: ['/site_categories/1'] }, '/site_categories'],
      [{ includedZipcodes: ['00000'] }, '/cities'],
      [{ excludedDepartments: ['/departments/999'] }, '/departments'],
      [{ excludedZipcodes: ['00000'] }, '/cities'],
      [{ excludedInseeCodes: ['00000'] }, '/cities'],
    ] as const)
      for (const { message } of await violationsOf(body)) assert.match(message.en, new RegExp(`GET ${place} lists`));
  });

  it('is absent for a number in a text, which keeps its digits', async () => {
    const written = { lat: '4.31e1', lon: '+6.0e0', radius: '12345e-3' };
    const { lat, lon, radius } = await readNewSearch(written, RULES, false);
    assert.deepEqual([lat, lon, radius].map(String), ['43.1', '6', '12.345']);
    assert.equal(decimalOf('-4.3100000000000000001e1'), '-43.100000000000000001');
    assert.equal(decimalOf('1e-25'), '0');
  });

  for (const name of Object.keys(SEARCH_MEMBERS)) {
    it(`is one of the service’s own codes for every bad ${name}`, async () => {
      const codes = new Set<string>();
      for (const value of name === 'expressions' ? [...BAD, ...EXPRESSIONS] : BAD) {
        for (const { code } of await violationsOf({ [name]: value })) codes.add(code);
      }
      // A context may be any JSON, and is refused only because of its size.
      assert.ok(codes.size > 0, 'nothing was refused');
      for (const code of codes) assert.ok(Object.hasOwn(VIOLATION_CODES, code) && !OF_ZOD.has(code), code);
    });
  }
});
