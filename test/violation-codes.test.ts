/** Every violation has a code that says something: zod's own `custom`, and a default, say nothing to a program. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem, type Violation } from '../src/rest/problem.ts';
import { type InputRules, readPreviewedSearch } from '../src/rest/search-input.ts';
import { SEARCH_MEMBERS } from '../src/rest/search-schema.ts';

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
    await readPreviewedSearch(body, RULES);
    return [];
  } catch (error) {
    if (error instanceof Problem) return error.violations;
    throw error;
  }
}

describe('the code of a violation', () => {
  for (const name of Object.keys(SEARCH_MEMBERS)) {
    it(`names the fault of a bad ${name}`, async () => {
      const codes = new Set<string>();
      for (const value of name === 'expressions' ? [...BAD, ...EXPRESSIONS] : BAD) {
        for (const { code } of await violationsOf({ [name]: value })) codes.add(code);
      }
      // Any JSON is a context, up to its size.
      assert.ok(codes.size > 0, 'nothing was refused');
      assert.ok(!codes.has('custom'), [...codes].join(', '));
    });
  }
});
