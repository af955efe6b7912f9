/** Recipients of e-mails that are being sent, with the links in these e-mails. */

import assert from 'node:assert/strict';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import type { MailFrequency } from '../../src/engine/domain/mail.ts';
import { SEARCH_DEFAULTS, type Search, type SearchMembers } from '../../src/engine/domain/search.ts';
import { createSearch } from '../../src/engine/store/searches.ts';
import { insertMailItems } from '../../src/features/mail/mail.ts';
import { claimMail } from '../../src/features/mail/mail-claims.ts';
import type { TestApi } from './api.ts';
import { mailItemOf } from './mail-scene.ts';
import { runStatements } from './statements.ts';

interface Sent {
  readonly search: Search;
}

interface Recorded {
  readonly frequency?: MailFrequency;
  readonly gatherMs?: number;
  readonly propertyUuid?: Uuid;
}

export function linkedRecipients({ database, clientId }: Pick<TestApi, 'database' | 'clientId'>) {
  /** Records an item as a recorder that has read the search does; resolves with the item's id. */
  async function record({ search }: Sent, { frequency = 'instant', gatherMs = 0, propertyUuid }: Recorded = {}) {
    const item = mailItemOf(search, propertyUuid ?? timeOrderedUuid(new Date()), new Date());
    const route = { ...item.route, frequency };
    await runStatements(database, insertMailItems([{ ...item, route }], new Date(), gatherMs));
    return item.id;
  }

  /** Claims the next e-mail to the recipient of a search; null if none is due. */
  function claimed({ search }: Sent) {
    const turn = { clientId, key: search.mail.key as string, mailId: null };
    return claimMail(database, turn, { leaseMs: 600_000, now: new Date() });
  }

  return {
    record,
    claimed,
    /** Creates a search with a claimed e-mail to `address` about `properties`, and one waiting item. */
    async sent(
      address: string,
      asked: Partial<SearchMembers> = {},
      properties: readonly (Uuid | undefined)[] = [undefined],
    ) {
      const mailed = { title: 'x', notificationEnabled: true, notificationRecipient: address };
      const search = await createSearch(database, clientId, { ...SEARCH_DEFAULTS, ...mailed, ...asked });
      for (const propertyUuid of properties)
        await record({ search }, propertyUuid === undefined ? {} : { propertyUuid });
      const { token } = (await claimed({ search })) ?? assert.fail();
      const waiting = await record({ search }, { frequency: search.members.notificationFrequency, gatherMs: 300_000 });
      return { search, iri: `/searches/${search.id}`, path: `/unsubscribe/${token}`, token, waiting, address };
    },
  };
}
