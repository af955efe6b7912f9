/** A request of a component: loading, answered or failed. The last answer stays while the request is repeated. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useModel } from './model-context.ts';
import { useValue } from './observable.ts';
import { messageOf, type Query, Unreachable } from './rest.ts';
import { useWords } from './words/language.ts';

export interface Requested<Value> {
  readonly value: Value | null;
  /** Null without an error. */
  readonly problem: string | null;
  readonly isLoading: boolean;
  again(): void;
}

/**
 * Sends the request at the first rendering, when one of `about` changes, and when a service that was unreachable is
 * available again. Drops outdated answers. When one of `renewals` changes, repeats the request after the pending one.
 */
export function useAnswer<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  about: readonly unknown[],
  renewals: readonly unknown[] = [],
): Requested<Value> {
  const words = useWords();
  const isLive = useValue(useModel().connection) === 'live';
  const [round, setRound] = useState(0);
  const isLost = useRef(false);
  const asking = useRef({ isUnderWay: false, isOwed: false });
  const [state, setState] = useState<Omit<Requested<Value>, 'again'>>({ value: null, problem: null, isLoading: true });
  useEffect(() => {
    const leaving = new AbortController();
    asking.current = { isUnderWay: true, isOwed: false };
    setState((before) => ({ ...before, isLoading: true }));
    const finish = (): void => {
      const { isOwed } = asking.current;
      asking.current = { isUnderWay: false, isOwed: false };
      if (isOwed) setRound((before) => before + 1);
    };
    ask(leaving.signal).then(
      (value) => {
        if (leaving.signal.aborted) return;
        isLost.current = false;
        setState({ value, problem: null, isLoading: false });
        finish();
      },
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        isLost.current = error instanceof Unreachable;
        setState((before) => ({ ...before, problem: messageOf(error, words), isLoading: false }));
        finish();
      },
    );
    return () => leaving.abort();
  }, [...about, round]);
  const again = useCallback(() => {
    if (asking.current.isUnderWay) asking.current.isOwed = true;
    else setRound((before) => before + 1);
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) again();
    isFirst.current = false;
  }, renewals);
  useEffect(() => {
    if (isLive && isLost.current) again();
  }, [isLive]);
  return { ...state, again };
}

/** Reads a resource of the service. When one of `renewals` changes, it is read again after the pending request. */
export function useRead<Body>(path: string, query: Query = {}, renewals: readonly unknown[] = []): Requested<Body> {
  const { rest } = useModel();
  return useAnswer((signal) => rest.read<Body>(path, query, signal), [path, JSON.stringify(query)], renewals);
}

/** The action of a button. One runs at a time; its error stays visible until the next try. */
export function useMutation() {
  const words = useWords();
  const [isUnderWay, setUnderWay] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const run = (work: () => Promise<void>): void => {
    if (isUnderWay) return;
    setUnderWay(true);
    setProblem(null);
    work()
      .catch((error: unknown) => setProblem(messageOf(error, words)))
      .finally(() => setUnderWay(false));
  };
  return { isUnderWay, problem, run };
}
