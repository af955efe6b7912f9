/** A test API whose properties are recorded as a daemon records them, and requests of its clients. */

import assert from 'node:assert/strict';
import type { ResolvePlace } from '../../src/engine/domain/city.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { type ApiOverrides, startTestApi } from './api.ts';
import { openRecording } from './question-scene.ts';
import { type Cleanup, lastFirst } from './servers.ts';

type Members = Readonly<Record<string, unknown>>;

interface RecordedOptions {
  readonly overrides?: ApiOverrides;
  readonly resolvePlace?: ResolvePlace;
  readonly clock?: () => Date;
}

interface FeedItem {
  readonly body: { readonly event: string; readonly adEvent?: Readonly<Record<string, string | null>> };
}

export async function startRecordedApi(t: Cleanup, { overrides = {}, resolvePlace, clock }: RecordedOptions = {}) {
  const cleanup = lastFirst(t);
  const api = await startTestApi(cleanup, overrides);
  const scene = await openRecording(cleanup, api.database, resolvePlace ?? api.reference.resolvePlace, clock);
  /** Requests the explanation of a search. */
  const explain = (search: string, query: string, language = 'en') => {
    const headers = { 'Accept-Language': language };
    return api.call('GET', `${search}/explanation?${query}`, undefined, { headers });
  };
  return {
    api,
    scene,
    explain,
    /** Creates a search of a client, by default the client of `api`, and resolves with its IRI. */
    async createSearch(members: Members = {}, key = api.key): Promise<string> {
      const { status, body, text } = await api.call('POST', '/searches', { title: 'x', ...members }, { key });
      assert.equal(status, 201, text);
      return body['@id'];
    },
    /** The properties that a search has matched. */
    async matched(search: string): Promise<ReadonlySet<string>> {
      const { rows } = await api.database.query<{ uuid: string }>(
        'select property_uuid as uuid from matches join searches on number = search_number where searches.id = $1',
        [search.split('/').at(-1)],
      );
      return new Set(rows.map(({ uuid }) => uuid));
    },
    /** The explanation of a search and a property, with the evaluation of `criterion`. */
    async explanationOf(search: string, property: Uuid, criterion: string, language = 'en') {
      const { body } = await explain(search, `property=${property}`, language);
      const row = (body.criteria as readonly Members[]).find((one) => one.criterion === criterion);
      const codes = (body.matchReasons as readonly { readonly code: string }[]).map(({ code }) => code);
      const reason = String(row?.reason).replaceAll(/[\u00a0\u202f]/g, ' ');
      const { holds, expected, actual } = row ?? {};
      return { satisfied: body.satisfied as boolean, codes, reason, holds, expected, actual };
    },
    /** The feed items of a search, oldest first: the kind and, if a field changed, its name and both values. */
    async noticesOf(search: string): Promise<readonly (string | null | undefined)[][]> {
      const { body } = await api.call('GET', `/feed?search=${search}`);
      return (body.items as readonly FeedItem[]).map(({ body: { event, adEvent } }) =>
        adEvent?.fieldName ? [event, adEvent.fieldName, adEvent.fieldOldValue, adEvent.fieldNewValue] : [event],
      );
    },
  };
}
