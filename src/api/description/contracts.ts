/** The contracts that machines read without a key: OpenAPI, AsyncAPI, and the schema of intake messages. */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { baseUrlOf } from '../base-url.ts';
import { answerBytes } from '../content.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { contractExamples } from './contract-examples.ts';
import { INTAKE_SCHEMA_PATH, intakeSchema } from './intake-schema-document.ts';
import { openApiDocument } from './openapi.ts';
import { standingDocument } from './standing-document.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const SCHEMA_TYPE = 'application/schema+json; charset=utf-8';

export function contractRoutes(router: Router, { settings, reference }: ApiDependencies): void {
  const { publicUrl, version } = settings;
  const baseUrl = (ctx: Context): string => baseUrlOf(ctx, publicUrl);
  const openApi = standingDocument((url) => ({
    ...openApiDocument(version, contractExamples(reference)),
    servers: [{ url: url === '' ? '/' : url }],
  }));
  const asyncApi = standingDocument(() => asyncApiDocument(version, contractExamples(reference)));
  const intake = standingDocument(intakeSchema);

  router.get('/openapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, openApi(baseUrl(ctx))));
  router.get('/asyncapi.json', (ctx) => answerBytes(ctx, JSON_TYPE, asyncApi(baseUrl(ctx))));
  router.get(INTAKE_SCHEMA_PATH, (ctx) => answerBytes(ctx, SCHEMA_TYPE, intake(baseUrl(ctx))));
}
