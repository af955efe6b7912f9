/** Security headers of every answer: helmet's, with a policy that allows a JSON answer nothing at all. */

import type { Middleware } from 'koa';
import helmet from 'koa-helmet';

export const secureHeaders: Middleware = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  // Answers are read by other origins: that is what CORS is open for.
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  crossOriginEmbedderPolicy: false,
});
