/** Provides the model of the signed-in client to all components below. */

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Model } from './model.ts';

export const ModelContext = createContext<Model | null>(null);

/** Throws outside a signed-in page, which is a bug. */
export function useModel(): Model {
  const model = useContext(ModelContext);
  if (model === null) throw new Error('no client is signed in');
  return model;
}
