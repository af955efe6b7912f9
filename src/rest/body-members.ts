/** Bodies of a few members, read by a schema: every fault is a violation, and unknown members are named with the nearest. */

import type { Context } from 'koa';
import type { z } from 'zod';
import { codeOf } from './error-codes.ts';
import { isIgnored } from './search-schema.ts';
import { FAULTS, type Sentence, sentenceOfZod } from './sentences.ts';
import { VIOLATIONS_MAX, Violations } from './violations.ts';

/** `what` an unknown member is none of. Throws a 422 `Problem`. */
export function readBody<Schema extends z.ZodObject>(ctx: Context, schema: Schema, what: Sentence): z.output<Schema> {
  const violations = new Violations();
  const { body } = ctx.request;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    violations.add([], FAULTS.objectBody, 'invalid_type');
    violations.throwAny();
  }
  const known = Object.keys(schema.shape);
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body as object)) {
    if (known.includes(name)) members[name] = value;
    else if (isIgnored(name)) continue;
    else if (violations.count < VIOLATIONS_MAX) violations.addUnknown([name], what, known);
    else violations.addMore(1);
  }
  const result = schema.safeParse(members);
  for (const { path, message, code } of result.error?.issues ?? []) {
    violations.add(path, sentenceOfZod(message), codeOf(code));
  }
  violations.throwAny();
  return result.data as z.output<Schema>;
}
