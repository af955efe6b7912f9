/** SQL conditions on the choices of e-mail recipients. Served by the primary key. */

import type { RecipientChoice } from '../domain/mail.ts';

/** Whether recipient `key` has made a choice of one of `kinds`. `scope` is SQL, by default for all e-mails. */
export function hasChosen(key: string, kinds: readonly RecipientChoice['kind'][], scope = "'sender'"): string {
  return `exists (select from mail_choices where recipient_key = ${key}
    and kind in ('${kinds.join("', '")}') and scope = ${scope} and value = 'true')`;
}

/** Whether recipient `key` has unsubscribed from all e-mails of the client or was erased. */
export function isOpposed(key: string): string {
  return hasChosen(key, ['unsubscription', 'erasure']);
}

/** Whether the recipient of a row of `searches` has unsubscribed from this search. */
export const IS_STOPPED = hasChosen('mail_key', ['unsubscription'], "'search:' || searches.id");

/** The highest frequency of e-mails that recipient `key` accepts; null if the recipient has made no choice. */
export function frequencyChosenBy(key: string): string {
  return `(select nullif(value #>> '{}', 'false') from mail_choices
    where recipient_key = ${key} and kind = 'frequency' and scope = 'sender')`;
}
