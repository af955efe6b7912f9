/** The endpoints and notifications of searches; read in the transaction that records the change. */

import type { SearchNumber } from '../domain/ids.ts';
import type { MailFrequency } from '../domain/mail.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable } from './database.ts';
import { type SearchHorizon, type UnseenRevisions, unseenBy } from './search-feed.ts';

type RouteRow = Omit<SearchRoute, 'mail'> & {
  readonly isDeleted: boolean;
  readonly mailAddress: string | null;
  readonly mailKey: string;
  readonly mailFrequency: MailFrequency | null;
  readonly hasMailConsent: boolean;
};

/** Whether a recipient, a row of mail_recipients, must get no e-mails. */
export const IS_OPPOSED = '(unsubscribed_at is not null or erased_at is not null)';

/** No transaction has the greatest number, so nothing is unseen. */
const NOTHING_UNSEEN: UnseenRevisions = { from: '18446744073709551615', late: [] };

/**
 * The address for e-mails; null where they are off, refused, unsubscribed from or erased. For most searches their own
 * row decides. The opposition is served by the primary key.
 */
const MAIL_ADDRESS = `case when mail_key is not null and mail_refused_at is null
  and not exists (select from mail_recipients where key = mail_key and ${IS_OPPOSED})
  then members ->> 'notificationRecipient' end`;

export interface WantedRoutes {
  readonly numbers: readonly SearchNumber[];
  /** Null if only `numbers` are known. */
  readonly horizon: SearchHorizon | null;
  /** True if this service sends e-mails. */
  readonly withMail: boolean;
}

/**
 * The searches among `numbers`, and those written since `horizon`, that have notifications, and null for deleted ones;
 * all other searches are silent. Served by the indexes searches_told and searches_revision.
 */
export async function readRoutes(
  client: Queryable,
  { numbers, horizon, withMail }: WantedRoutes,
): Promise<Map<SearchNumber, SearchRoute | null>> {
  const { from, late } = horizon === null ? NOTHING_UNSEEN : unseenBy(horizon);
  const { rows } = await client.query<RouteRow>({
    name: 'read-routes',
    text: `
      select number, id, client_id as "clientId", endpoint_recipient as "endpointRecipient", event_endpoint as "eventEndpoint",
        subscribed_events as "subscribedEvents", hide_property_contact as "hidePropertyContact", version, generation,
        deleted_at is not null as "isDeleted", mail_key as "mailKey",
        case when $2 then ${MAIL_ADDRESS} end as "mailAddress",
        case when mail_key is not null then members ->> 'notificationFrequency' end as "mailFrequency",
        mail_key is not null and members ->> 'notificationConsent' is not null as "hasMailConsent",
        event_thresholds as thresholds
      from searches
      where number = any($1::integer[] || array(select number from searches where revision >= $3::xid8)
          || array(select number from searches where revision = any($4::xid8[])))
        and (notification_enabled or deleted_at is not null)`,
    values: [arrayLiteral(numbers), withMail, from, arrayLiteral(late)],
  });
  return new Map(rows.map((row) => [row.number, row.isDeleted ? null : routeOf(row)]));
}

function routeOf({ isDeleted: _deleted, mailAddress, mailKey, mailFrequency, ...row }: RouteRow): SearchRoute {
  const { hasMailConsent: hasConsent, ...route } = row;
  const mail =
    mailAddress === null
      ? null
      : { address: mailAddress, key: mailKey, frequency: mailFrequency ?? 'instant', hasConsent };
  return { ...route, mail };
}
