/** The published description of a route, and the part of the API's contract that a feature adds. */

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
  /** The class of the answered resource. */
  readonly resource: string;
  readonly answers: 'item' | 'collection' | 'nothing';
  /** Markdown, for readers of `/docs`. */
  readonly details: string;
  readonly parameters: Rules;
  /** The name of the schema of the request body. */
  readonly body: string | null;
  /** True if the answer can be read only with at least one of the parameters. */
  readonly takesSome?: boolean;
  /** The status of success when the method does not imply it, such as 200 for a POST that creates nothing. */
  readonly status?: 200 | 202;
  /** True if it accepts an `Idempotency-Key`. */
  readonly isIdempotent?: true;
  /** True if its answers differ each time and so have no entity tag. */
  readonly isUntagged?: true;
  /** Statuses of refusals, in addition to those that the other members of the route imply. */
  readonly refusals?: readonly (404 | 409 | 410)[];
}

/** `call`: method and path, such as `post /recoveries`. */
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

/** A feature's part of the contract, from which OpenAPI, Hydra and the JSON-LD contexts are derived. */
export interface Contract {
  readonly routes: readonly Route[];
  /** The answered resources, by class name. */
  readonly resources?: Readonly<Record<string, z.ZodObject>>;
  /** Collections that may have more members than `totalItems`. */
  readonly estimated?: readonly string[];
  /** Estimated collections whose `margin` states how many more members there may be. */
  readonly withMargin?: readonly string[];
  /** The description of each group, by class name. */
  readonly groups?: Readonly<Record<string, string>>;
  /** Objects inside these resources that are not resources themselves. */
  readonly parts?: Readonly<Record<string, z.ZodObject>>;
  /** Request bodies, by name, each with a valid example. */
  readonly bodies?: Readonly<
    Record<string, { readonly schema: z.ZodType; readonly example: object; readonly isOptional?: true }>
  >;
  /** An example of each resource, created by the production code. */
  readonly examples?: (samples: Samples) => Readonly<Record<string, object>>;
}
