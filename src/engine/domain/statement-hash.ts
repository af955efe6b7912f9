/**
 * What a message says of its advert, as a number: by it a message is known again that comes in another stream with the
 * `crawledAt` of the state held (decisions, section 4).
 */

import { createHash } from 'node:crypto';
import type { IntakeMessage } from './intake-message.ts';
import { type HeldAdvert, isLive } from './property.ts';

const EXPIRED = 'expired';

/** Of the message that left the advert in this state. */
export function hashOfHeld(advert: HeldAdvert): number {
  return hashOf(isLive(advert) ? [advert.content, advert.property] : EXPIRED);
}

export function hashOfMessage(message: IntakeMessage): number {
  return hashOf(message.kind === 'upsert' ? [message.advert, message.property] : EXPIRED);
}

const BYTES = 6;

function hashOf(said: unknown): number {
  return createHash('sha256').update(JSON.stringify(said, inOrder)).digest().readUIntBE(0, BYTES);
}

/** The order in which members stand says nothing, nor one that is null, empty or from before it was known. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const known = Object.entries(value).filter(([, member]) => member !== null && !isEmptyList(member));
  return Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
