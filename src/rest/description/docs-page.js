/**
 * The script of /docs: the reference by Swagger UI with ids that exist for the key that is typed, which lives as long as the
 * page, and a search over guides and operations.
 */
/* global SwaggerUIBundle, document, fetch */

const keyField = document.querySelector('#key');
const wordsField = document.querySelector('#words');
const nothing = document.querySelector('#nothing');
/** Of each list, what its first member's id is an example of. */
const LISTS = [
  '/searches',
  '/matches',
  '/deliveries',
  '/documents/properties',
  '/recoveries',
  '/webhook-secrets',
  '/users',
];

/** Ids by the list that they are of; empty without a key, or with one that is refused. */
async function readIds(key) {
  if (key === '') return new Map();
  const read = async (list) => {
    const answer = await fetch(`${list}?itemsPerPage=1`, { headers: { 'X-API-KEY': key, Accept: 'application/json' } });
    const [first] = answer.ok ? ((await answer.json())['hydra:member'] ?? []) : [];
    return first === undefined ? [] : [[list, first['@id'].split('/').at(-1)]];
  };
  return new Map((await Promise.all(LISTS.map(read))).flat());
}

function withIds(description, ids) {
  for (const [path, operations] of Object.entries(description.paths)) {
    const id = ids.get(path.split('/{')[0]);
    if (id === undefined) continue;
    for (const { parameters = [] } of Object.values(operations)) {
      for (const parameter of parameters) if (parameter.in === 'path') parameter.example = id;
    }
  }
  return description;
}

const samples = [...document.querySelectorAll('pre code')].map((element) => ({ element, text: element.textContent }));

async function show() {
  const key = keyField.value.trim();
  const [description, ids] = await Promise.all([fetch('/openapi.json').then((answer) => answer.json()), readIds(key)]);
  for (const { element, text } of samples) {
    const search = ids.get('/searches') ?? '$SEARCH';
    element.textContent = ids.size === 0 ? text : text.replaceAll('$KEY', key).replaceAll('$SEARCH', search);
  }
  SwaggerUIBundle({
    spec: withIds(description, ids),
    dom_id: '#swagger-ui',
    // Its badge would be asked of somebody else.
    validatorUrl: null,
    deepLinking: true,
    persistAuthorization: false,
    onComplete() {
      const ui = this;
      if (key !== '') ui.preauthorizeApiKey('apiKey', key);
      search();
    },
  });
}

function search() {
  const words = wordsField.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const part of document.querySelectorAll('#guides section, #swagger-ui .opblock')) {
    const text = part.textContent.toLocaleLowerCase();
    part.hidden = !words.every((word) => text.includes(word));
    found += Number(!part.hidden);
  }
  for (const group of document.querySelectorAll('#swagger-ui .opblock-tag-section')) {
    group.hidden = group.querySelector('.opblock:not([hidden])') === null;
  }
  nothing.hidden = found > 0;
}

wordsField.addEventListener('input', search);
keyField.addEventListener('change', () => void show());
void show();
