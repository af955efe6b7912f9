/**
 * Records the visits and marks of users (decisions, section 7). A visit is the time up to which they have seen the
 * matches of a search; a mark keeps or hides a property. Lists and e-mails use the marks; webhooks and the feed do not.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { parseUuid, type SearchNumber, type Uuid } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { fullBatches } from '../../engine/store/retention.ts';
import { MARK_COLUMNS, MARK_STATES, type PropertyMark } from '../../engine/store/search-marks.ts';
import type { Feature } from '../../feature.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, answer } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { identity, link } from '../../rest/description/field-schemas.ts';
import { PropertyMark as PropertyMarkSchema } from '../../rest/description/property-schemas.ts';
import { identityOf } from '../../rest/hydra.ts';
import { jsonBody, optionalJsonBody } from '../../rest/json-body.ts';
import { bodySchema, nullable, optional, readBody, single } from '../../rest/member-rules.ts';
import { notFound, Problem } from '../../rest/problem.ts';
import { type Contract, route } from '../../rest/route.ts';
import { searchIri } from '../../rest/search-document.ts';
import { idOf, ownSearch } from '../../rest/searches.ts';
import { FAULTS, KINDS_OF_MEMBER, REFUSALS, THINGS } from '../../rest/sentences.ts';
import { Fault, INSTANT, oneOf, text, type ValueRule } from '../../values.ts';

const SEARCH_VISIT = {
  at: optional(
    nullable(
      single(INSTANT, { format: 'date-time' }),
      'The time, such as `createdAt` of the newest match that was shown; now by default.',
      null,
    ),
  ),
};

const REASON_LENGTH_MAX = 255;
const NOTE_BYTES_MAX = 2_048;

const NOTE: ValueRule<string> = {
  ...text(NOTE_BYTES_MAX),
  read(value) {
    const read = text(NOTE_BYTES_MAX).read(value);
    const isTooLong = typeof read === 'string' && Buffer.byteLength(read) > NOTE_BYTES_MAX;
    return isTooLong ? new Fault(FAULTS.bytes(NOTE_BYTES_MAX), 'too_long') : read;
  },
};

/** Clients may send back members as they received them. */
const IGNORED = optional({
  schema: z.unknown().meta({ readOnly: true, description: 'Ignored when sent.' }),
  read: () => undefined,
});

const MARK_CHANGE = {
  state: optional(nullable(single(oneOf(MARK_STATES)), 'kept, hidden, or null for neither.', null)),
  reason: optional(nullable(single(text(REASON_LENGTH_MAX)), 'Reason in a few words.', null)),
  note: optional(nullable(single(NOTE), `Your own note, at most ${NOTE_BYTES_MAX} bytes in UTF-8.`, null)),
  ...{ search: IGNORED, property: IGNORED, markedAt: IGNORED },
};

/** Per search. Far more than a person needs: `forget` removes the marks of properties that are gone. */
const MARKS_MAX = 10_000;

function markRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database } = dependencies;

  router.put('/searches/:id/seen', optionalJsonBody, async (ctx) => {
    const id = idOf(ctx, THINGS.search);
    const { at = null } = readBody(ctx, SEARCH_VISIT, KINDS_OF_MEMBER.visit);
    if (!(await recordVisit(database, principalOf(ctx).clientId, id, at))) notFound(THINGS.search);
    ctx.status = 204;
  });

  router.get('/searches/:id/properties/:uuid/mark', acceptable, async (ctx) => {
    const { id, number } = await ownSearch(ctx, dependencies);
    const uuid = propertyOf(ctx);
    const mark = await readMark(database, number, uuid);
    answer(ctx, markDocument(id, uuid, mark ?? notFound(THINGS.property)));
  });

  router.put('/searches/:id/properties/:uuid/mark', acceptable, jsonBody, async (ctx) => {
    const { id, number } = await ownSearch(ctx, dependencies);
    const uuid = propertyOf(ctx);
    const change = readBody(ctx, MARK_CHANGE, KINDS_OF_MEMBER.mark);
    const mark = await writeMark(database, number, uuid, change);
    if (mark !== null) return answer(ctx, markDocument(id, uuid, mark));
    if ((await readMark(database, number, uuid)) === null) notFound(THINGS.property);
    throw new Problem(409, REFUSALS.marks(MARKS_MAX));
  });
}

/** Throws a 404 `Problem` if the path has no UUID. */
function propertyOf(ctx: Context): Uuid {
  return parseUuid(String(ctx.params.uuid)) ?? notFound(THINGS.property);
}

function markDocument(searchId: Uuid, propertyUuid: Uuid, mark: PropertyMark) {
  const search = searchIri(searchId);
  return {
    ...identityOf('Mark', `${search}/properties/${propertyUuid}/mark`),
    search,
    property: propertyIri(propertyUuid),
    ...mark,
  };
}

/**
 * Moves the time of the last visit forward to `at`, or to now if `at` is null or in the future. False if there is no
 * such search. Served by the unique index on id.
 */
async function recordVisit(database: Queryable, clientId: Uuid, id: Uuid, at: Date | null): Promise<boolean> {
  const { rowCount } = await database.query(
    `update searches set seen_at = greatest(seen_at, least($3, clock_timestamp()))
     where id = $1 and client_id = $2 and deleted_at is null`,
    [id, clientId, at],
  );
  return rowCount === 1;
}

/** Null if the property is not stored. Without a mark, all members are null. Served by the primary keys. */
async function readMark(database: Queryable, number: SearchNumber, uuid: Uuid): Promise<PropertyMark | null> {
  const { rows } = await database.query<PropertyMark>(
    `select ${MARK_COLUMNS} from properties left join search_marks k on search_number = $1 and property_uuid = uuid
     where uuid = $2`,
    [number, uuid],
  );
  return rows[0] ?? null;
}

type MarkChange = { readonly [Name in 'state' | 'reason' | 'note']?: PropertyMark[Name] | undefined };

/**
 * Changes only the stated members, and deletes a mark without values. Null if the property is not stored, or if the
 * mark would be one too many for the search. Served by the primary keys.
 */
async function writeMark(
  database: Queryable,
  number: SearchNumber,
  uuid: Uuid,
  change: MarkChange,
): Promise<PropertyMark | null> {
  const set = ['state', 'reason', 'note'].map(
    (name) => `${name} = case when $3::jsonb ? '${name}' then excluded.${name} else k.${name} end`,
  );
  const { rows } = await database.query<PropertyMark>(
    `insert into search_marks as k (search_number, property_uuid, state, reason, note)
     select $1::integer, uuid, nullif($3::jsonb ->> 'state', ''), nullif($3::jsonb ->> 'reason', ''), nullif($3::jsonb ->> 'note', '')
     from properties where uuid = $2 and (
       exists (select from search_marks where search_number = $1 and property_uuid = $2)
       or not exists (select from search_marks where search_number = $1 offset ${MARKS_MAX - 1}))
     on conflict (search_number, property_uuid) do update set ${set.join()}, marked_at = now()
     returning ${MARK_COLUMNS}`,
    [number, uuid, JSON.stringify(change)],
  );
  const [mark] = rows;
  if (mark === undefined) return null;
  if (mark.state ?? mark.reason ?? mark.note) return mark;
  const isEmpty = 'num_nonnulls(state, reason, note) = 0';
  await database.query(`delete from search_marks where search_number = $1 and property_uuid = $2 and ${isEmpty}`, [
    number,
    uuid,
  ]);
  return { ...mark, markedAt: null };
}

/** Removes marks whose search or property no longer exists. Reads all marks, in the order of the primary keys. */
async function removeMarks(database: Queryable, limit: number): Promise<number> {
  const { rowCount } = await database.query(
    `delete from search_marks where (search_number, property_uuid) in (
       select search_number, property_uuid from search_marks
       where not exists (select from searches where number = search_number and deleted_at is null)
         or not exists (select from properties where uuid = property_uuid) limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}

const Mark = z.strictObject({
  ...identity('Mark'),
  search: link('Search', 'The search.'),
  property: link('PropertyDocument', 'The property.'),
  ...PropertyMarkSchema.shape,
});

const MARK_CONTRACT: Contract = {
  routes: [
    route('put /searches/{id}/seen', 'Search', 'nothing', 'Records the time up to which you have seen the matches', {
      body: 'SearchVisit',
      status: 200,
      details:
        'Records the time up to which you have seen the matches of the search; `newSinceSeen` counts later matches. ' +
        'This time never moves back, and a future time is treated as now.',
    }),
    route('get /searches/{id}/properties/{uuid}/mark', 'Mark', 'item', 'Reads your mark of a property', {
      details: 'Your mark of a property in a search; its members are null without one.',
    }),
    route('put /searches/{id}/properties/{uuid}/mark', 'Mark', 'item', 'Keeps or hides a property, with a note', {
      body: 'MarkChange',
      status: 200,
      refusals: [409],
      details:
        'Marks a property in a search, whether it satisfies the search or not: kept or hidden, with a reason and a ' +
        'note. Members that are sent are replaced, and the others are kept; `null` clears a member. A hidden ' +
        'property is left out of all lists of the search, except with `mark=hidden`, and of its e-mails. Webhooks ' +
        'and the feed still have it. ' +
        `A search has at most ${MARKS_MAX} marks.`,
    }),
  ],
  resources: { Mark },
  groups: { Mark: 'Properties that you keep or hide in a search, with your notes.' },
  bodies: {
    SearchVisit: { schema: bodySchema(SEARCH_VISIT), example: { at: '2026-03-10T08:15:00Z' }, isOptional: true },
    MarkChange: { schema: bodySchema(MARK_CHANGE), example: { state: 'hidden', reason: 'Too far from the station' } },
  },
  examples: ({ at, ids, property }) => ({
    Mark: markDocument(ids.search, property, { ...{ state: 'hidden', reason: 'Too far', note: null }, markedAt: at }),
  }),
};

export const marks: Feature = {
  name: 'marks',
  contract: MARK_CONTRACT,
  routes: markRoutes,
  forget: (database) => fullBatches('search_marks', (limit) => removeMarks(database, limit)),
};
