/** What Redocly says of an OpenAPI document: `judge.mjs FILE`; its faults as a JSON array. */

import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const source = readFileSync(process.argv[2], 'utf8');
// Answers are open: the names with `@` beside others without are shown, and not described.
const open = { severity: 'error', allowAdditionalProperties: true };
const rules = { 'no-invalid-media-type-examples': open, 'no-invalid-schema-examples': open };
const faults = await lintFromString({ source, config: await createConfig({ extends: ['recommended'], rules }) });
const words = faults.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`);
process.stdout.write(JSON.stringify(words));
