/** The choices of recipients of e-mails, as conditions of statements. Served by the primary key. */

import type { RecipientChoice } from '../domain/mail.ts';

/** Whether recipient `key` has chosen one of `kinds`, for all e-mails of the client or for `scope`, an expression. */
export function hasChosen(key: string, kinds: readonly RecipientChoice['kind'][], scope = "'sender'"): string {
  return `exists (select from mail_choices where recipient_key = ${key}
    and kind in ('${kinds.join("', '")}') and scope = ${scope} and value = 'true')`;
}

/** Whether the recipient `key` must get no e-mails. */
export function isOpposed(key: string): string {
  return hasChosen(key, ['unsubscription', 'erasure']);
}

/** For a row of `searches`: whether its recipient has unsubscribed from this search. */
export const IS_STOPPED = hasChosen('mail_key', ['unsubscription'], "'search:' || searches.id");

/** The maximum frequency of e-mails that the recipient `key` has chosen; null if the client's setting applies. */
export function frequencyChosenBy(key: string): string {
  return `(select nullif(value #>> '{}', 'false') from mail_choices
    where recipient_key = ${key} and kind = 'frequency' and scope = 'sender')`;
}
