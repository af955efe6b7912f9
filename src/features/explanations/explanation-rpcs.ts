/** Explanations for operators, as in REST: of one search, or of every search of a client that a property satisfies. */

import { NO_POINTS } from '../../engine/matching/points/poi-index.ts';
import { readAnySearch } from '../../engine/store/pairs.ts';
import type { Rpcs } from '../../grpc/call.ts';
import { notFound } from '../../grpc/errors.ts';
import { clientIdOf, findNamedProperty, uuidOfName } from '../../grpc/names.ts';
import { pageOfList } from '../../grpc/paging.ts';
import { explainingOf, subjectOf } from './explanation.ts';
import { explain } from './explanation-routes.ts';
import { queriesOf } from './queries.ts';

const LANGUAGE = 'en';

const SEARCHES_PER_PAGE = 20;

export const EXPLANATION_RPCS = {
  async explainMatch(request, dependencies) {
    const { database } = dependencies;
    const search = await readAnySearch(database, uuidOfName('search', 'searches', request.search));
    if (search === null) throw notFound('Search', request.search);
    const explaining = explainingOf(dependencies, () => NO_POINTS);
    const subject = await subjectOf(await findNamedProperty(request, database), explaining);
    const explanation = await explain(search.number, subject, LANGUAGE, explaining);
    if (explanation === null) throw notFound('Search', request.search);
    return { explanationJson: JSON.stringify(explanation) };
  },
  async explainProperty(request, dependencies) {
    const { database } = dependencies;
    const clientId = await clientIdOf('client', request.client, database);
    const explaining = explainingOf(dependencies, () => NO_POINTS);
    const subject = await subjectOf(await findNamedProperty(request, database), explaining);
    const askQuery = queriesOf(dependencies.askThread);
    const { markets: _, ...facts } = subject.facts;
    const satisfied = await askQuery('satisfiedSearches', { clientId, facts });
    const conditions = { clientId, uuid: subject.stored.state.uuid };
    const { rows, nextPageToken } = pageOfList(satisfied, request, conditions, SEARCHES_PER_PAGE);
    const explanationsJson: string[] = [];
    for (const number of rows) {
      const explanation = await explain(number, subject, LANGUAGE, explaining);
      if (explanation !== null) explanationsJson.push(JSON.stringify(explanation));
    }
    return { explanationsJson, nextPageToken, totalSize: satisfied.length };
  },
} satisfies Rpcs;
