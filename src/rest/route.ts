/** What is said of a route beside its handler, and what a feature adds to the contract of the interface. */

import type { z } from 'zod';
import type { EventKind } from '../engine/domain/codes.ts';
import type { WebhookChannel } from '../engine/domain/delivery.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { Rules } from './query.ts';

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** In OpenAPI's notation. */
  readonly path: string;
  readonly summary: string;
  /** The class of what it answers. */
  readonly resource: string;
  readonly answers: 'item' | 'collection' | 'nothing';
  /** In Markdown, for people who read `/docs`. */
  readonly details?: string;
  readonly parameters: Rules;
  /** The schema of what is sent, by name. */
  readonly body: string | null;
  /** One of its parameters must be sent, whichever: it is no list that can be read bare. */
  readonly takesSome?: boolean;
  /** Of success, where the method does not say it; 200 of a post that makes nothing. */
  readonly status?: 200 | 202;
  /** It takes an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /** Its answers are never the same twice, and have no tag. */
  readonly isUntagged?: true;
  /** Refusals of its own, beside those that everything of its kind has. */
  readonly refusals?: readonly (404 | 409 | 410)[];
}

/** `call`: such as `post /recoveries`. */
export function route(
  call: `${Route['method']} /${string}`,
  resource: string,
  answers: Route['answers'],
  summary: string,
  more: Partial<Route> = {},
): Route {
  const [method, path] = call.split(' ') as [Route['method'], string];
  return { method, path, resource, answers, summary, parameters: {}, body: null, ...more };
}

export function get(path: `/${string}`, resource: string, answers: Route['answers'], summary: string, parameters = {}) {
  return route(`get ${path}`, resource, answers, summary, { parameters });
}

/** What the examples of a contract are made of. */
export interface Samples {
  readonly at: Date;
  readonly ids: Readonly<Record<'client' | 'search' | 'match' | 'delivery' | 'own', Uuid>>;
  readonly property: Uuid;
  readonly reference: Reference;
  /** The body of a webhook. */
  readonly alert: (kind: EventKind, channel: WebhookChannel) => object;
}

/** Routes of a feature, in the words in which OpenAPI, Hydra and the JSON-LD contexts describe all of them. */
export interface Contract {
  readonly routes: readonly Route[];
  /** What is answered, by class name. */
  readonly resources?: Readonly<Record<string, z.ZodObject>>;
  /** Of collections those of which there may be more members than are looked at. */
  readonly estimated?: readonly string[];
  /** What is said of each in the list of groups. */
  readonly groups?: Readonly<Record<string, string>>;
  /** Objects inside these that are no resources of their own. */
  readonly parts?: Readonly<Record<string, z.ZodObject>>;
  /** What is sent, by name, each with an example that is taken as it is. */
  readonly bodies?: Readonly<
    Record<string, { readonly schema: z.ZodType; readonly example: object; readonly isOptional?: true }>
  >;
  /** Of each resource, made by the code that makes the real thing. */
  readonly examples?: (samples: Samples) => Readonly<Record<string, object>>;
}
