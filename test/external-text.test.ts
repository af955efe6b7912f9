/** Text written by others has no effect in the spreadsheets and terminals of its readers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { escapedJson, printable } from '../src/cli/terminal.ts';
import { csvCell } from '../src/csv.ts';

test('no cell is read as a formula, regardless of the characters before its sign', () => {
  for (const before of ['', ' ', '\n', '\r', '\t', '\ufeff', '\u200b', '\u00a0', '\n \ufeff']) {
    for (const sign of ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
      const [[cell]] = parse(csvCell(`${before}${sign}1+1`)) as [[string]];
      assert.equal(cell, `'${before}${sign}1+1`);
    }
  }
  assert.deepEqual(['Vue mer', ' T3', '250000', 'a=b', ''].map(csvCell), ['Vue mer', ' T3', '250000', 'a=b', '']);
});

test('every cell is read back unchanged, except a formula', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      const [[cell]] = parse(`${csvCell(text)},end\r\n`) as [[string]];
      assert.ok(cell === text || cell === `'${text}`);
    }),
  );
});

test('bidirectional control characters do not reach a terminal, and JSON keeps the value', () => {
  for (const unit of ['\u001b', '\u0085', '\u061c', '\u200e', '\u202e', '\u2066', '\u2069', '\u2028']) {
    const text = `loyer ${unit}000 1`;
    assert.equal(printable(text), 'loyer \ufffd000 1');
    const json = escapedJson(JSON.stringify({ text }));
    assert.ok(!json.includes(unit));
    assert.deepEqual(JSON.parse(json), { text });
  }
  assert.equal(printable('Côte d’Azur\n🏡'), 'Côte d’Azur\n🏡');
});
