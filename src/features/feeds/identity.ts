/** Derives the ids of an advert from its source and reference, and its content as the JSON of a message. */

import { createHash } from 'node:crypto';
import { type Uuid, uuidOfHex } from '../../engine/domain/ids.ts';
import { type FeedContent, known } from './feed-row.ts';

/** The same reference of the same source gives the same ids on any machine: version 5 UUIDs (RFC 9562, section 5.5). */
const NAMESPACE = Buffer.from('6f9c1d3e4b0a4d6f9f57c2a8e1b3d504', 'hex');

export interface FeedIdentity {
  readonly property: Uuid;
  readonly advert: Uuid;
}

/** `reference`: the first known reference of the advert. */
export function identityOf(source: string, reference: string): FeedIdentity {
  const named = (kind: string): Uuid => nameBasedUuid(`${kind}:${source}:${reference}`);
  return { property: named('property'), advert: named('advert') };
}

function nameBasedUuid(name: string): Uuid {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return uuidOfHex(bytes.toString('hex'));
}

/** The first 132 bits of the text's SHA-256. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The members of the message other than kind and time: JSON without its opening brace, equal for equal adverts. */
export function contentJson({ property, advert }: FeedIdentity, content: FeedContent): string {
  const halves = { property: { uuid: property, ...content.property }, advert: { uuid: advert, ...content.advert } };
  return JSON.stringify(halves).slice(1);
}

/**
 * Drops the features that earlier versions did not read if the content without them has `hash`, so that an upgrade
 * causes no change.
 */
export function asPublished(
  content: FeedContent,
  laterFeatures: readonly string[] | undefined,
  identity: FeedIdentity,
  hash: string | null | undefined,
): FeedContent {
  if (!hash || laterFeatures === undefined || laterFeatures.length === 0) return content;
  const features = (content.advert.features ?? []) as readonly string[];
  const former = features.slice(0, features.length - laterFeatures.length);
  const before = { ...content, advert: known({ ...content.advert, features: former }) };
  return hashOf(contentJson(identity, before)) === hash ? before : content;
}
