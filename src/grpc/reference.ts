/** Site categories and points of interest. */

import { orAborted } from '../engine/actor/waiting.ts';
import {
  FACILITIES,
  OPERATOR_TYPES,
  type PointAttributes,
  type PointOfInterest,
  SCHOOL_TYPES,
} from '../engine/domain/point-of-interest.ts';
import { storable } from '../engine/domain/text.ts';
import * as storedPoints from '../engine/store/points-of-interest.ts';
import * as storedCategories from '../engine/store/site-categories.ts';
import { number, oneOf, text } from '../values.ts';
import type { CallContext, Rpcs } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, invalidArgument, notFound } from './errors.ts';
import type {
  ImportPointsOfInterestRequest,
  PointOfInterest as PointMessage,
  PointSource,
  SiteCategory,
} from './generated/vigie/admin/v1/reference.ts';
import { displayNameOf, nameOf, pointSourceOfName, valueOf } from './names.ts';
import { pageOfList } from './paging.ts';

const CATEGORIES_MAX = 1_000;
const POINTS_PER_MESSAGE_MAX = 10_000;
const FACILITY = oneOf(FACILITIES);
const SCHOOL_TYPE = oneOf(SCHOOL_TYPES);
const OPERATOR_TYPE = oneOf(OPERATOR_TYPES);
const [LATITUDE, LONGITUDE] = [number(-90, 90), number(-180, 180)];
const NAME = text(500);
/** The default page size: these lists are usually shorter. */
const ALL = 1_000;

export const REFERENCE_RPCS = {
  async listSiteCategories(request, { database }) {
    const categories = await storedCategories.listSiteCategories(database);
    const { rows, nextPageToken } = pageOfList(categories, request, 'siteCategories', ALL);
    return { siteCategories: rows.map(categoryMessage), nextPageToken };
  },
  async setSiteCategories({ displayNames }, { database }) {
    if (displayNames.length > CATEGORIES_MAX)
      throw invalidArgument('display_names', `must have at most ${CATEGORIES_MAX} names`);
    const names = displayNames.map((name) => displayNameOf('display_names', name));
    if (new Set(names).size < names.length) throw invalidArgument('display_names', 'must not contain duplicates');
    try {
      return { siteCategories: (await storedCategories.setSiteCategories(database, names)).map(categoryMessage) };
    } catch (error) {
      if (error instanceof storedCategories.SiteCategoryInUseError) {
        throw failedPrecondition('SITE_CATEGORY_IN_USE', 'siteCategories', error.message);
      }
      throw error;
    }
  },
  async listPointSources(request, { database }) {
    const sources = await storedPoints.listPointSources(database);
    const { rows, nextPageToken } = pageOfList(sources, request, 'pointSources', ALL);
    return { pointSources: rows.map(sourceMessage), nextPageToken };
  },
  async deletePointSource({ name }, { database }) {
    const isRemoved = await storedPoints.removePointSource(database, pointSourceOfName('name', name));
    if (!isRemoved) throw notFound('PointSource', name);
    return {};
  },
} satisfies Rpcs;

export async function importPoints(
  requests: AsyncIterable<ImportPointsOfInterestRequest>,
  { database }: AdminDependencies,
  { signal }: CallContext,
): Promise<PointSource> {
  const messages = requests[Symbol.asyncIterator]();
  const nextMessage = () => orAborted(messages.next(), signal);
  const first = await nextMessage();
  if (first.done === true) throw invalidArgument('source', 'must be in the first message');
  const source = pointSourceOfName('source', first.value.source);

  async function* batches(): AsyncGenerator<readonly PointOfInterest[]> {
    let isComplete = false;
    for (let next = first; next.done !== true; next = await nextMessage()) {
      if (isComplete) throw invalidArgument('last', 'must be true only in the last message');
      isComplete = next.value.last;
      if (next.value.points.length > POINTS_PER_MESSAGE_MAX) {
        throw invalidArgument('points', `must have at most ${POINTS_PER_MESSAGE_MAX} points per message`);
      }
      yield next.value.points.map(pointOf);
    }
    if (!isComplete) throw invalidArgument('last', 'must be true in the last message');
  }

  await storedPoints.replacePointSource(database, source, batches());
  const imported = (await storedPoints.listPointSources(database)).find(({ name }) => name === source);
  if (imported === undefined) throw notFound('PointSource', first.value.source);
  return sourceMessage(imported);
}

function pointOf(point: PointMessage): PointOfInterest {
  const facility = valueOf('points.facility', FACILITY, point.facility);
  return {
    facility,
    lat: valueOf('points.lat', LATITUDE, point.lat),
    lon: valueOf('points.lon', LONGITUDE, point.lon),
    name: valueOf('points.display_name', NAME, storable(point.displayName)) || null,
    attributes: attributesOf(point),
  };
}

function attributesOf({ attributes }: PointMessage): PointAttributes {
  const unknown = Object.keys(attributes).find((key) => key !== 'schoolType' && key !== 'operatorType');
  if (unknown !== undefined) throw invalidArgument('points.attributes', 'may have only schoolType and operatorType');
  const { schoolType, operatorType } = attributes;
  return {
    ...(schoolType !== undefined && { schoolType: valueOf('points.attributes.schoolType', SCHOOL_TYPE, schoolType) }),
    ...(operatorType !== undefined && {
      operatorType: valueOf('points.attributes.operatorType', OPERATOR_TYPE, operatorType),
    }),
  };
}

function categoryMessage({ id, name }: storedCategories.SiteCategory): SiteCategory {
  return { name: nameOf.siteCategory(id), displayName: name };
}

function sourceMessage(source: { name: string; pointCount: number; importedAt: Date }): PointSource {
  return { name: nameOf.pointSource(source.name), pointCount: source.pointCount, importTime: source.importedAt };
}
