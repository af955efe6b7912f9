/** A property: its facts, the history of its price, its adverts and its deliveries. */

import { useEffect } from 'preact/hooks';
import { useAnswer, useRead } from '../answer.ts';
import {
  type AdvertDocument,
  type Collection,
  cityLabel,
  type DeliveryDocument,
  type ExplanationDocument,
  idOf,
  type MatchDocument,
  type PropertyDocument,
} from '../documents.ts';
import { Icon, Loading, Problem } from '../elements.tsx';
import { filters } from '../filters.ts';
import { FLAG_LABELS } from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { homeOf, placeOf } from '../pins.ts';
import type { Rest } from '../rest.ts';
import { hrefOf } from '../route.ts';
import { safeLink } from '../safe-link.ts';
import { SETTINGS } from '../session.ts';
import { useSharedMap } from '../shared-map.ts';
import { language, useWords } from '../words/language.ts';
import { Around } from './around.tsx';
import { addresseeOf, DeliveryState } from './delivery-row.tsx';
import { Marking } from './marking.tsx';
import { pricesOf } from './price-history.ts';

interface Shown {
  readonly match: MatchDocument | null;
  readonly document: PropertyDocument | null;
}

/** `id`: the id of a match, or the IRI of a property without a match. */
async function readShown(rest: Rest, id: string, signal: AbortSignal): Promise<Shown> {
  if (id.startsWith('/')) return { match: null, document: await rest.read<PropertyDocument>(id, {}, signal) };
  const match = await rest.read<MatchDocument>(`/matches/${id}`, {}, signal);
  return { match, document: match.propertyDocument };
}

export function PropertyPanel({ match }: { readonly match: string }) {
  const words = useWords();
  const model = useModel();
  const version = useValue(model.pinsVersion);
  const pin = model.pins.get(`/matches/${match}`);
  // Read again after each notification of this property.
  const read = useAnswer((signal) => readShown(model.rest, match, signal), [match, pin?.updatedAtMs ?? 0]);
  const sharedMap = useSharedMap();
  const place = placeOf(read.value?.document ?? null);
  useEffect(() => {
    sharedMap?.point(place === null ? null : { lat: place.lat, lng: place.lon });
    return () => sharedMap?.point(null);
  }, [sharedMap, place?.lat, place?.lon]);
  const document = read.value?.document ?? null;
  return (
    <article class="property" data-version={version}>
      <a class="back" href={hrefOf('map')}>
        <Icon name="back" /> {words.back}
      </a>
      <Loading isShown={read.value === null && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      {read.value !== null && document === null && <p>{words.forgotten}</p>}
      {read.value !== null && document !== null && <Property match={read.value.match} document={document} />}
    </article>
  );
}

function Property({ match, document }: Shown & { readonly document: PropertyDocument }) {
  const words = useWords();
  const sharedMap = useSharedMap();
  const { city, locations } = document;
  const chosen = useValue(filters).search;
  const search = match?.search ?? chosen;
  const place = placeOf(document);
  const goToPlace = (): void => {
    if (place === null || sharedMap === null) return;
    sharedMap.map.setView({ lat: place.lat, lng: place.lon }, Math.max(sharedMap.map.getZoom(), 13));
  };
  return (
    <>
      <h1>{document.title ?? words.untitled}</h1>
      <p class="price">
        {words.euros(document.price)}
        {document.pricePerMeter !== null && <small>{words.euros(document.pricePerMeter)}/m²</small>}
        {document.expired && <span class="tag">{words.pinKinds.expired}</span>}
      </p>
      <p class="hint">
        {city !== null && cityLabel(city)}
        {locations === null && ` – ${words.placedByCity}`}
        <button type="button" class="quiet" onClick={goToPlace}>
          {words.showOnMap}
        </button>
      </p>
      <Facts document={document} />
      {search !== null && <Marking search={search} match={match} document={document} />}
      <p class="actions">
        <a class="button" href={hrefOf('why', document.uuid)}>
          {words.whyThis}
        </a>
      </p>
      <Pictures pictures={document.pictures} />
      {document.description !== null && <p class="description">{document.description}</p>}
      <section>
        <h2>{words.adverts(document.adverts.length)}</h2>
        {document.adverts.map((advert) => (
          <Advert key={advert.uuid} advert={advert} />
        ))}
      </section>
      <PriceHistory document={document} />
      <ForWhom document={document} />
      {match !== null && <Sent match={match['@id']} />}
      {place !== null && <Around place={place} />}
    </>
  );
}

const FOR_WHOM_MAX = 30;

/** The searches that the property satisfies, and why each was or was not notified. */
function ForWhom({ document }: { readonly document: PropertyDocument }) {
  const words = useWords();
  const tag = useValue(language);
  const { byIri } = useValue(useModel().searches);
  const query = { property: document['@id'], itemsPerPage: FOR_WHOM_MAX };
  const read = useRead<Collection<ExplanationDocument>>('/explanations', query, [document.updatedAt, tag]);
  const list = read.value?.['hydra:member'].filter(({ satisfied }) => satisfied) ?? [];
  const others = (read.value?.['hydra:totalItems'] ?? 0) - (read.value?.['hydra:member'].length ?? 0);
  return (
    <section class="for-whom">
      <h2>{words.forWhom}</h2>
      <Loading isShown={read.value === null && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      {read.value !== null && list.length === 0 && <p class="hint">{words.noneSatisfied}</p>}
      <ul class="plain">
        {list.map(({ search, matchReason }) => (
          <li key={search}>
            <a href={hrefOf('searches', idOf(search))}>{byIri.get(search)?.title ?? search}</a>
            <p class="hint">{matchReason}</p>
          </li>
        ))}
      </ul>
      {others > 0 && <p class="hint">{words.andMore(others)}</p>}
    </section>
  );
}

const FLAG_NAMES = Object.keys(FLAG_LABELS) as readonly (keyof typeof FLAG_LABELS)[];

function Facts({ document }: { readonly document: PropertyDocument }) {
  const words = useWords();
  const { energy, features } = homeOf(document.adverts);
  const shownIf = <Value,>(value: Value | null, show: (value: Value) => string | undefined): string | undefined =>
    value === null ? undefined : show(value);
  const meters = (value: number): string => `${words.number(value)} m²`;
  const shown: readonly (readonly [string, string | undefined])[] = [
    [words.transaction, shownIf(document.transactionType, (code) => words.transactions[code])],
    [words.members.propertyTypes, shownIf(document.propertyType, (code) => words.propertyTypes[code])],
    [words.members.surface, shownIf(document.surface, meters)],
    [words.members.landSurface, shownIf(document.landSurface, meters)],
    [words.members.room, shownIf(document.room, String)],
    [words.members.bedroom, shownIf(document.bedroom, String)],
    [words.criteria.floor, shownIf(document.floor, String)],
    [words.energy, energy.join(', ') || undefined],
    [words.members.includedFeatures, features.join(', ') || undefined],
    ...FLAG_NAMES.map(
      (name) => [words.flags[name], shownIf(document[name], (isSo) => (isSo ? words.yes : words.no))] as const,
    ),
    [words.seen, shownIf(document.lastCrawledAt, words.moment)],
  ];
  return (
    <dl class="facts">
      {shown.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function PriceHistory({ document }: { readonly document: PropertyDocument }) {
  const words = useWords();
  const prices = pricesOf(document);
  if (prices.length === 0) return null;
  return (
    <section>
      <h2>{words.priceHistory}</h2>
      <ol class="plain prices">
        {prices.map(({ at, price }) => (
          <li key={at}>{words.ofMember(words.day(at), words.euros(price))}</li>
        ))}
      </ol>
    </section>
  );
}

const PICTURES_MAX = 12;

/** Shows links, unless the operator lets browsers request pictures from the portals. */
function Pictures({ pictures }: { readonly pictures: readonly string[] }) {
  const words = useWords();
  const links = pictures.flatMap((picture) => safeLink(picture) ?? []).slice(0, PICTURES_MAX);
  if (links.length === 0) return null;
  return (
    <section>
      <h2>{words.pictures(links.length)}</h2>
      <ul class="pictures" data-shown={SETTINGS.showsPictures}>
        {links.map((link, at) => (
          <li key={link}>
            <a href={link} target="_blank" rel="noreferrer noopener">
              {SETTINGS.showsPictures ? (
                <img src={link} alt={words.picture(at + 1)} loading="lazy" />
              ) : (
                words.picture(at + 1)
              )}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Advert({ advert }: { readonly advert: AdvertDocument }) {
  const words = useWords();
  const link = safeLink(advert.url);
  const tour = safeLink(advert.virtualTour);
  const energy = advert.energy?.category ?? null;
  const { publisher, contact } = advert;
  // An agency is often both publisher and contact.
  const who = new Set(
    [publisher?.name, publisher?.category, contact?.agency, contact?.name, contact?.phone, contact?.email].filter(
      Boolean,
    ),
  );
  return (
    <div class="advert">
      <p>
        <strong>{advert.title ?? words.untitled}</strong> {words.euros(advert.price)}
        {energy !== null && <span class="tag">{`${words.energy} ${energy}`}</span>}
      </p>
      <p class="hint">
        {[...who].join(' · ')}
        {link !== null && (
          <a href={link} target="_blank" rel="noreferrer noopener">
            {words.openAdvert}
          </a>
        )}
        {tour !== null && (
          <a href={tour} target="_blank" rel="noreferrer noopener">
            {words.criteria.withVirtualTour}
          </a>
        )}
      </p>
    </div>
  );
}

function Sent({ match }: { readonly match: string }) {
  const words = useWords();
  const latest = useValue(useModel().latest);
  const sent = useRead<Collection<DeliveryDocument>>('/deliveries', { match, itemsPerPage: 20 }, [latest]);
  const list = sent.value?.['hydra:member'] ?? [];
  return (
    <section class="sent">
      <h2>{words.sentWhere}</h2>
      <Problem text={sent.problem} again={sent.again} />
      {sent.value !== null && list.length === 0 && <p class="hint">{words.nothingSent}</p>}
      <ul class="list">
        {list.map((delivery) => (
          <li key={delivery['@id']} class="row">
            <DeliveryState status={delivery.status} />
            <span class="row-title">{addresseeOf(delivery.endpoint)}</span>
            <span class="row-aside">{words.moment(delivery.createdAt)}</span>
            <span class="row-more">{`${words.channels[delivery.channel as 'match']} · ${words.attempts(delivery.attemptCount)}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
