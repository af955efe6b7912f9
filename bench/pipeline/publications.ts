/** The messages that crawlers publish. */

import type { Publication } from '../../src/engine/broker/publish.ts';
import { advertSubject } from '../../src/engine/broker/topology.ts';
import type { SampleCrawler } from '../adverts/sample-adverts.ts';

let publications = 0;

const FLOODED_PROPERTY = '00000000-0000-4000-8000-00000000f100';
const FLOOD_DESCRIPTION = 'x'.repeat(50_000);

/** One more advert of the flooded property. Its price is below every search's, so that nobody is told of it. */
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

/** `crawledAt` is the moment of publication: the receiver subtracts it. */
export function publicationOf(crawler: SampleCrawler, prefix: string | null): Publication {
  const message = { ...crawler.next(), crawledAt: new Date().toISOString() };
  const { uuid } = message.property;
  return {
    subject: prefix === null ? advertSubject(uuid) : `${prefix}.${uuid}`,
    messageId: `${message.advert.uuid}/${publications++}`,
    bytes: Buffer.from(JSON.stringify(message)),
  };
}
