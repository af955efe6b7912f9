/** The contracts that machines read without a key: OpenAPI, AsyncAPI, and the schema of intake messages. */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { asyncApiDocument } from './asyncapi.ts';
import { baseUrlOf } from './base-url.ts';
import { answerBytes } from './content.ts';
import { contractExamples } from './contract-examples.ts';
import type { ApiDependencies } from './dependencies.ts';
import { INTAKE_SCHEMA_PATH, intakeSchema } from './intake-schema-document.ts';
import { openApiDocument } from './openapi.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const SCHEMA_TYPE = 'application/schema+json; charset=utf-8';

export function contractRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  const { publicUrl, version } = settings;
  const baseUrl = (ctx: Context): string => baseUrlOf(ctx, publicUrl);
  // Written once, and not before somebody asks: most of a start is spent on things like this.
  const openApi = once(() => openApiDocument(version, contractExamples(reference)));
  const asyncApi = once(() => JSON.stringify(asyncApiDocument(version, contractExamples(reference))));

  router.get('/openapi.json', (ctx) => {
    const url = baseUrl(ctx);
    answerBytes(ctx, JSON_TYPE, JSON.stringify({ ...openApi(), servers: [{ url: url === '' ? '/' : url }] }));
  });

  router.get('/asyncapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, asyncApi()));

  router.get(INTAKE_SCHEMA_PATH, (ctx) => answerBytes(ctx, SCHEMA_TYPE, JSON.stringify(intakeSchema(baseUrl(ctx)))));
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
