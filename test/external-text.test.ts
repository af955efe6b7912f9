/** Text of others does nothing in the spreadsheets and terminals of those who read it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { escapedJson, printable } from '../src/cli/terminal.ts';
import { csvCell } from '../src/csv.ts';

test('no cell is a formula, whatever stands before its sign', () => {
  for (const before of ['', ' ', '\n', '\r', '\t', '\ufeff', '\u200b', '\u00a0', '\n \ufeff']) {
    for (const sign of ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
      const [[cell]] = parse(csvCell(`${before}${sign}1+1`)) as [[string]];
      assert.equal(cell, `'${before}${sign}1+1`);
    }
  }
  assert.deepEqual(['Vue mer', ' T3', '250000', 'a=b', ''].map(csvCell), ['Vue mer', ' T3', '250000', 'a=b', '']);
});

test('any cell is read as it was, a formula apart', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      const [[cell]] = parse(`${csvCell(text)},end\r\n`) as [[string]];
      assert.ok(cell === text || cell === `'${text}`);
    }),
  );
});

test('text that turns the order of characters about does not reach a terminal, and JSON keeps its value', () => {
  for (const unit of ['\u001b', '\u0085', '\u061c', '\u200e', '\u202e', '\u2066', '\u2069', '\u2028']) {
    const text = `loyer ${unit}000 1`;
    assert.equal(printable(text), 'loyer \ufffd000 1');
    const json = escapedJson(JSON.stringify({ text }));
    assert.ok(!json.includes(unit));
    assert.deepEqual(JSON.parse(json), { text });
  }
  assert.equal(printable('Côte d’Azur\n🏡'), 'Côte d’Azur\n🏡');
});
