/** `GET /recipients`: the addresses that a client's searches send e-mails to (decisions, section 7). */

import type { Context } from 'koa';
import { z } from 'zod';
import { EMAIL_STATUSES, type EmailStatus, type MailConsent } from '../../engine/domain/mail.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { emailStatusSql } from '../../engine/store/mail-conditions.ts';
import { principalOf } from '../../rest/auth.ts';
import type { ApiSettings } from '../../rest/dependencies.ts';
import { dateTime, dateTimeOrNull, identity, text } from '../../rest/description/field-schemas.ts';
import { collection, identityOf, offsetOf } from '../../rest/hydra.ts';
import { orderParameter, PAGING, readQuery, textParameter } from '../../rest/query.ts';
import { route } from '../../rest/route.ts';

const RECIPIENT_LIST_PARAMETERS = {
  address: textParameter('Part of the address; case is ignored.', 320),
  'order[id]': orderParameter('id', ', which is the order of addresses'),
  ...PAGING,
} as const;

interface ListedRecipient {
  readonly address: string;
  /** The number of searches that send e-mails to the address. */
  readonly searches: number;
  readonly status: EmailStatus;
  readonly lastMailAt: string | null;
  readonly consent: MailConsent | null;
}

/**
 * The addresses are read from the client's searches, by searches_client. The other columns are read for one page only,
 * by searches_mail and mail_items_search. Parameters: client, part of an address, offset, limit.
 */
const statementOf = (direction: 'asc' | 'desc', settings: ApiSettings): string => `
  with named as materialized (
    select mail_key as key, min(lower(members ->> 'notificationRecipient')) as address from searches
    where client_id = $1 and deleted_at is null and mail_key is not null group by mail_key
  ), listed as materialized (
    select * from named where strpos(address, lower($2)) > 0
  )
  select (select count(*)::integer from listed) as total, (
    select json_agg(page) from (
      select address, summary.* from (
        select * from listed order by address collate "C" ${direction} offset $3 limit $4
      ) recipient cross join lateral (
        select count(*)::integer as searches, max(last.at) as "lastMailAt",
          min(status) as status, -- active is the first
          (array_agg(consent order by (consent ->> 'at')::timestamptz desc nulls last))[1] as consent
        from (
          select number, ${emailStatusSql(settings)} as status, members -> 'notificationConsent' as consent
          from searches where mail_key = recipient.key and deleted_at is null
        ) search left join lateral (
          select finished_at as at from mail_items
          where search_number = search.number and endpoint_key = recipient.key and state = 'delivered'
          order by created_at desc limit 1
        ) last on true
      ) summary order by address collate "C" ${direction}
    ) page
  ) as page`;

export async function answerRecipients(ctx: Context, database: Queryable, settings: ApiSettings): Promise<object> {
  const query = readQuery(ctx, RECIPIENT_LIST_PARAMETERS);
  const { offset, limit } = offsetOf(query);
  const { rows } = await database.query<{ total: number; page: readonly ListedRecipient[] | null }>(
    statementOf(query['order[id]'] ?? 'asc', settings),
    [principalOf(ctx).clientId, query.address ?? '', offset, limit],
  );
  const [{ total, page } = { total: 0, page: null }] = rows;
  const members = (page ?? []).map(summaryDocument);
  return collection(ctx, { context: 'RecipientSummary', members, totalItems: total });
}

export function summaryDocument({ address, searches, status, lastMailAt, consent }: ListedRecipient): object {
  return {
    ...identityOf('RecipientSummary', `/recipients/${encodeURIComponent(address)}`),
    ...{ address, searches, status, lastMailAt: lastMailAt && new Date(lastMailAt).toISOString(), consent },
  };
}

export const Consent = z
  .strictObject({ source: text('Where and how the consent was given.'), at: dateTime('When the consent was given.') })
  .nullable()
  .meta({ description: 'Consent of the recipient.' });

export const RecipientSummary = z.strictObject({
  ...identity('RecipientSummary'),
  address: text('The address in lower case.'),
  searches: z.int().meta({ description: 'Number of your searches that send e-mails to the address.' }),
  status: z.enum(EMAIL_STATUSES).meta({
    description: 'active: a search sends e-mails to the address. Otherwise, the emailStatus of one of its searches.',
  }),
  lastMailAt: dateTimeOrNull('When the last e-mail of these searches was delivered, while its delivery is kept.'),
  consent: Consent,
});

export const RECIPIENT_LIST_ROUTE = route(
  'get /recipients',
  'RecipientSummary',
  'collection',
  'Lists recipients of e-mails',
  {
    parameters: RECIPIENT_LIST_PARAMETERS,
    details:
      'The addresses that your searches send e-mails to, each with the number of searches, the latest consent and ' +
      'the last e-mail. The `@id` of an address returns all your data about it, even after its searches were deleted.',
  },
);
