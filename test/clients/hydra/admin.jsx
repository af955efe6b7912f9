/** Renders API Platform Admin for the API at `entrypoint`, with an API key, as its documentation tells a user to do. */

import { fetchHydra, HydraAdmin, hydraDataProvider } from '@api-platform/admin';
import { parseHydraDocumentation } from '@api-platform/api-doc-parser';
import React from 'react';
import { createRoot } from 'react-dom/client';

const parameters = new URLSearchParams(window.location.search);
const entrypoint = parameters.get('entrypoint');
const withKey = (headers) => {
  const all = new Headers(headers);
  all.set('X-API-KEY', parameters.get('key'));
  return all;
};

const dataProvider = hydraDataProvider({
  entrypoint,
  mercure: false,
  httpClient: (url, options = {}) => fetchHydra(url, { ...options, headers: withKey(options.headers) }),
  apiDocumentationParser: (url) => parseHydraDocumentation(url, { headers: withKey({}) }),
});

createRoot(document.getElementById('root')).render(
  React.createElement(HydraAdmin, { entrypoint, dataProvider, mercure: false }),
);
