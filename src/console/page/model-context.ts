/** Provides the model of the signed-in client to all components below. */

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Model } from './model.ts';

export const ModelContext = createContext<Model | null>(null);

/** Throws outside of a signed-in page: that is a bug. */
export function useModel(): Model {
  const model = useContext(ModelContext);
  if (model === null) throw new Error('nobody is signed in');
  return model;
}
