/** The description of a route beside its handler, and a feature's part of the interface's contract. */

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
  readonly details: string;
  readonly parameters: Rules;
  /** The schema of what is sent, by name. */
  readonly body: string | null;
  /** At least one of its parameters is required: the list cannot be read without. */
  readonly takesSome?: boolean;
  /** The status of success, where the method does not imply it; 200 for a POST that creates nothing. */
  readonly status?: 200 | 202;
  /** It takes an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /** Its answers differ every time, and have no tag. */
  readonly isUntagged?: true;
  /** Its own refusals, in addition to those of its kind. */
  readonly refusals?: readonly (404 | 409 | 410)[];
}

/** `call`: such as `post /recoveries`. */
export function route(
  call: `${Route['method']} /${string}`,
  resource: string,
  answers: Route['answers'],
  summary: string,
  more: Partial<Route> & Pick<Route, 'details'>,
): Route {
  const [method, path] = call.split(' ') as [Route['method'], string];
  return { method, path, resource, answers, summary, parameters: {}, body: null, ...more };
}

/** The data for the examples of a contract. */
export interface Samples {
  readonly at: Date;
  readonly ids: Readonly<Record<'client' | 'search' | 'match' | 'delivery' | 'own', Uuid>>;
  readonly property: Uuid;
  readonly reference: Reference;
  /** The body of a webhook. */
  readonly alert: (kind: EventKind, channel: WebhookChannel) => object;
}

/** Routes of a feature, in the form from which OpenAPI, Hydra and the JSON-LD contexts are written. */
export interface Contract {
  readonly routes: readonly Route[];
  /** What is answered, by class name. */
  readonly resources?: Readonly<Record<string, z.ZodObject>>;
  /** Collections that may have more members than are read. */
  readonly estimated?: readonly string[];
  /** Estimated collections that say in `margin` how many more there may be. */
  readonly withMargin?: readonly string[];
  /** The description of each in the list of groups. */
  readonly groups?: Readonly<Record<string, string>>;
  /** Objects inside these that are no resources of their own. */
  readonly parts?: Readonly<Record<string, z.ZodObject>>;
  /** Request bodies, by name, each with a valid example. */
  readonly bodies?: Readonly<
    Record<string, { readonly schema: z.ZodType; readonly example: object; readonly isOptional?: true }>
  >;
  /** An example of each resource, created by the production code. */
  readonly examples?: (samples: Samples) => Readonly<Record<string, object>>;
}
