/** What the parsers say of a contract: `judge.mjs asyncapi FILE` or `judge.mjs openapi FILE`; one fault a line, as JSON. */

import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const [, , kind, file] = process.argv;
const source = readFileSync(file, 'utf8');

async function asyncApiFaults() {
  const { document, diagnostics } = await new Parser().parse(source);
  // 3.0 is what generators know.
  const faults = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
  const words = faults.map(({ code, message, path }) => `${code}: ${message} at ${path.join('.')}`);
  return document === undefined ? [...words, 'no document'] : words;
}

async function openApiFaults() {
  // Answers are open: the names with `@` beside others without are shown, and not described.
  const open = { severity: 'error', allowAdditionalProperties: true };
  const rules = { 'no-invalid-media-type-examples': open, 'no-invalid-schema-examples': open };
  const faults = await lintFromString({ source, config: await createConfig({ extends: ['recommended'], rules }) });
  return faults.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`);
}

process.stdout.write(JSON.stringify(await (kind === 'asyncapi' ? asyncApiFaults() : openApiFaults())));
