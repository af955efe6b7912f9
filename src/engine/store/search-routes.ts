/** The routes of searches (endpoints and notification settings), read in the transaction that records a change. */

import type { SearchNumber } from '../domain/ids.ts';
import { type MailFrequency, slowerOf } from '../domain/mail.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable } from './database.ts';
import { frequencyChosenBy, MAIL_ADDRESS } from './mail-conditions.ts';
import { type SearchHorizon, type UnseenRevisions, unseenBy } from './search-feed.ts';

type RouteRow = Omit<SearchRoute, 'mail'> & {
  readonly isDeleted: boolean;
  readonly mailAddress: string | null;
  readonly mailKey: string;
  readonly mailFrequency: MailFrequency | null;
  readonly frequencyChosen: MailFrequency | null;
  readonly hasMailConsent: boolean;
};

/** Selects no revision, because no transaction has the greatest number. */
const NOTHING_UNSEEN: UnseenRevisions = { from: '18446744073709551615', late: [] };

export interface WantedRoutes {
  readonly numbers: readonly SearchNumber[];
  /** Null if only `numbers` are to be read. */
  readonly horizon: SearchHorizon | null;
  /** True if this service sends e-mails. */
  readonly withMail: boolean;
}

/**
 * The routes of the searches `numbers` and of those that were written since `horizon`. The route of a deleted search is
 * null. Searches that do not notify are missing. Served by the indexes searches_told and searches_revision.
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
        case when mail_key is not null then ${frequencyChosenBy('mail_key')} end as "frequencyChosen",
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
  const { hasMailConsent: hasConsent, frequencyChosen, ...route } = row;
  const frequency = slowerOf(mailFrequency ?? 'instant', frequencyChosen);
  const mail = mailAddress === null ? null : { address: mailAddress, key: mailKey, frequency, hasConsent };
  return { ...route, mail };
}
