/**
 * The page of a signed-in client: the header with the list of views, the open view and, next to some views, the map. A
 * view that opens again keeps its scroll position. If the followed link has disappeared, the focus moves to the view.
 */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { forgetUnsaved } from './editor/unsaved.ts';
import { MapContents } from './map-contents.tsx';
import { type Model, openModel } from './model.ts';
import { ModelContext, useModel } from './model-context.ts';
import { useValue } from './observable.ts';
import { createRest } from './rest.ts';
import { hrefOf, type Route, route, VIEWS, type View } from './route.ts';
import { forgetKey, hasBroughtKey, keepKey, readKey } from './session.ts';
import { openSharedMap, type SharedMap, SharedMapContext } from './shared-map.ts';
import { SignIn } from './sign-in.tsx';
import { DeliveriesView } from './views/deliveries-view.tsx';
import { EndpointsView } from './views/endpoints-view.tsx';
import { MapView } from './views/map-view.tsx';
import { RecipientsView } from './views/recipients-view.tsx';
import { SearchesView } from './views/searches-view.tsx';
import { WhyView } from './views/why-view.tsx';
import { chooseLanguage, language, presentWords, useWords } from './words/language.ts';

/** Not a hook, because the key in the address is read before the first rendering. */
export function mayReplaceKey(): boolean {
  return window.confirm(presentWords().replaceKey);
}

export function App({ firstKey }: { readonly firstKey: string | null }) {
  const [key, setKey] = useState(firstKey);
  const [isRefused, setRefused] = useState(false);
  const words = useWords();
  const tag = useValue(language);
  useEffect(() => {
    document.documentElement.lang = tag;
    if (key === null) document.title = words.title;
  }, [tag, words, key]);
  // A key may be pasted into the address of the open page.
  useEffect(() => {
    const look = (): void => {
      if (hasBroughtKey()) setKey(readKey(mayReplaceKey));
    };
    window.addEventListener('hashchange', look);
    return () => window.removeEventListener('hashchange', look);
  }, []);
  const leave = useCallback((wasRefused: boolean) => {
    forgetKey();
    setKey(null);
    setRefused(wasRefused);
  }, []);
  if (key === null) {
    const enter = (typed: string): void => {
      keepKey(typed);
      setRefused(false);
      setKey(typed);
    };
    return <SignIn isRefused={isRefused} onKey={enter} />;
  }
  return <Desk key={key} apiKey={key} onLeave={leave} />;
}

function Desk({ apiKey, onLeave }: { readonly apiKey: string; onLeave(wasRefused: boolean): void }) {
  const [model, setModel] = useState<Model | null>(null);
  useEffect(() => {
    const opened = openModel(createRest(apiKey, () => onLeave(true)));
    setModel(opened);
    return () => {
      opened.close();
      forgetUnsaved();
    };
  }, [apiKey, onLeave]);
  if (model === null) return null;
  return (
    <ModelContext.Provider value={model}>
      <Page onLeave={() => onLeave(false)} />
    </ModelContext.Provider>
  );
}

const WITH_MAP: readonly View[] = ['map', 'searches'];

function Page({ onLeave }: { onLeave(): void }) {
  const open = useValue(route);
  const { view, id } = open;
  const words = useWords();
  const arrival = useArrival(open);
  const [sharedMap, setSharedMap] = useState<SharedMap | null>(null);
  const attach = useMemo(() => sharedMapAttacher(setSharedMap), []);
  useEffect(() => sharedMap?.name(words), [sharedMap, words]);
  useEffect(() => {
    document.title = words.titleOf(words.views[view]);
  }, [view, words]);
  return (
    <SharedMapContext.Provider value={sharedMap}>
      <div class="page" data-layout={WITH_MAP.includes(view) ? 'map' : 'plain'}>
        <a class="skip" href="#view" onClick={focusView}>
          {words.skip}
        </a>
        <Head view={view} onLeave={onLeave} />
        <Banner />
        <main id="view" {...arrival} tabIndex={-1} aria-label={words.views[view]}>
          <OpenView view={view} id={id} />
        </main>
        <section class="stage" aria-label={words.views.map}>
          <div class="map" ref={attach} />
          {sharedMap !== null && <MapContents />}
        </section>
      </div>
    </SharedMapContext.Provider>
  );
}

/** Creates the map with its element, and removes it with the element. */
function sharedMapAttacher(set: (sharedMap: SharedMap | null) => void) {
  let opened: SharedMap | null = null;
  return (element: HTMLElement | null): void => {
    opened?.close();
    opened = element === null ? null : openSharedMap(element);
    set(opened);
  };
}

/** The fragment names the view, so a click on the link moves the focus instead. */
function focusView(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#view')?.focus();
}

function OpenView({ view, id }: { readonly view: View; readonly id: string | null }) {
  switch (view) {
    case 'map':
      return <MapView match={id} />;
    case 'searches':
      return <SearchesView id={id} />;
    case 'deliveries':
      return <DeliveriesView search={id} />;
    case 'why':
      return <WhyView requested={id} />;
    case 'recipients':
      return <RecipientsView />;
    case 'endpoints':
      return <EndpointsView />;
  }
}

function Head({ view, onLeave }: { readonly view: View; onLeave(): void }) {
  const words = useWords();
  const model = useModel();
  const connection = useValue(model.connection);
  const tag = useValue(language);
  const other = tag === 'fr' ? 'en' : 'fr';
  return (
    <header class="head">
      <a class="brand" href={hrefOf('map')}>
        <span class="lamp" data-connection={connection} aria-hidden="true" />
        Vigie
      </a>
      <nav aria-label={words.title}>
        {VIEWS.map((one) => (
          <a key={one} href={hrefOf(one)} aria-current={one === view ? 'page' : undefined} data-view={one}>
            {words.views[one]}
          </a>
        ))}
      </nav>
      <div class="head-end">
        <span class="connection" role="status">
          {words.connections[connection]}
        </span>
        <button type="button" class="quiet" lang={other} onClick={() => chooseLanguage(other)}>
          {words.otherLanguage}
        </button>
        <button type="button" class="quiet" onClick={onLeave}>
          {words.signOut}
        </button>
      </div>
    </header>
  );
}

function Banner() {
  const words = useWords();
  const connection = useValue(useModel().connection);
  return (
    <div class="banner" role="alert" hidden={connection !== 'lost'}>
      {connection === 'lost' ? words.lost : ''}
    </div>
  );
}

/** Returns the properties of the scrolling element. */
function useArrival({ view, id }: Route) {
  const element = useRef<HTMLElement>(null);
  const leftAt = useRef(new Map<string, number>());
  const place = `${view}/${id ?? ''}`;
  const isFirst = useRef(true);
  useEffect(() => {
    const { current: main } = element;
    if (main === null) return;
    main.scrollTop = leftAt.current.get(place) ?? 0;
    // The followed link may have disappeared with its list. A link that stays keeps the focus.
    if (!isFirst.current && document.activeElement === document.body) main.focus({ preventScroll: true });
    isFirst.current = false;
  }, [place]);
  const onScroll = (): void => void leftAt.current.set(place, element.current?.scrollTop ?? 0);
  return { ref: element, onScroll };
}
