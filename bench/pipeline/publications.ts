/** The messages that crawlers publish. */

import type { Publication } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import type { SampleCrawler } from '../adverts/sample-adverts.ts';

let publications = 0;

const FLOODED_PROPERTY = '00000000-0000-4000-8000-00000000f100';
const FLOOD_DESCRIPTION = 'x'.repeat(50_000);

/**
 * Another advert of the flooded property. Its price is incoherent and below every minimum, so it notifies hardly any
 * search.
 */
export function floodPublication(crawler: SampleCrawler): Publication {
  const { property, advert, ...message } = crawler.newAdvert();
  const flood = {
    ...message,
    crawledAt: new Date().toISOString(),
    property: { ...property, uuid: FLOODED_PROPERTY },
    advert: { ...advert, price: 1, description: FLOOD_DESCRIPTION },
  };
  return {
    subject: advertSubject(FLOODED_PROPERTY),
    messageId: `${advert.uuid}/flood`,
    bytes: Buffer.from(JSON.stringify(flood)),
  };
}

/** `crawledAt` is the time of publication, from which the receiver computes the latency. */
export function publicationOf(next: SampleCrawler['next'], prefix: string | null): Publication {
  const message = { ...next(), crawledAt: new Date().toISOString() };
  const { uuid } = message.property;
  return {
    subject: prefix === null ? advertSubject(uuid) : `${prefix}.${uuid}`,
    messageId: `${message.advert.uuid}/${publications++}`,
    bytes: Buffer.from(JSON.stringify(message)),
  };
}
