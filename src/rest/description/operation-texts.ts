/** What each operation does, for people who read `/docs` and for the comments of generated clients. By method and path. */

const FILTERED = 'Filters and orders are in `hydra:search` of the answer; pages in `hydra:view`.';
const REFERENCE = 'Reference data of France, the same for all clients.';

/** In Markdown. */
export const OPERATION_TEXTS: Readonly<Record<string, string>> = {
  'get /searches': `Your saved searches. ${FILTERED}`,
  'post /searches':
    'Saves a search. Only `title` is required; every criterion that is set must hold. Matches go to `endpointRecipient` ' +
    'and events to `eventEndpoint`, when `notificationEnabled` is true. What satisfied the search before it was saved is ' +
    'no match. The answer’s `token` signs its webhooks, which carry its `context`.',
  'get /searches/{id}': 'One of your searches, with the token that signs its webhooks.',
  'put /searches/{id}':
    'Changes the members that the body has and keeps the others; `null` clears one. What was answered may be sent back ' +
    'as it is: read-only members are ignored.',
  'patch /searches/{id}':
    'A merge patch (RFC 7396): changes the members that the body has and keeps the others; `null` clears one.',
  'delete /searches/{id}':
    'Deletes a search. Its open deliveries are cancelled: after the answer no attempt begins. Its matches go with it.',
  'post /searches/preview':
    'What a search would find, without saving it: how many properties satisfy it now, how many began to on each of the ' +
    'last days, the newest of them, and how many there would be without each criterion. Exact where the search names a ' +
    'place and 20,000 properties there come into question at most (2,000 when it has `expressions`); else the figures ' +
    'may come from a sample, and `estimated` says so. Two questions of a client are answered at once.',
  'get /searches/{id}/explanation':
    'Why a property is a match of the search, or is not: criterion by criterion what was asked for and what there is, ' +
    'when the match began and by what, and what was sent. Send one of `property`, `advert` and `url`. The words ' +
    'are for people, in French or English as `Accept-Language` prefers.',
  'get /explanations':
    'Your searches that a property satisfies, and then those that it fails by one criterion, each explained. Send one of ' +
    '`property`, `advert` and `url`.',
  'get /searches/{id}/near-misses':
    'Live properties seen within the last days that fail the search by exactly one criterion, the nearest first: what a ' +
    'little more would have found. At most 10,000 are listed; among many properties, those elsewhere are looked for nearby ' +
    'or in a sample.',
  'get /searches/{id}/properties':
    'The live properties that satisfy the search now, notified or not, the last changed first, each with its match if ' +
    'there is one. Exact where all that come into question can be judged; else those of the 10,000 live properties that ' +
    'changed last, and `estimated` says so. As `text/csv` the page has a line a property, and `Link` leads to the next.',
  'post /searches/{id}/email-confirmation':
    'Asks the recipient, by one e-mail for ever, whether to receive e-mails again: `emailStatus` stays `unsubscribed` until ' +
    'the recipient says so. 409 when the recipient is not unsubscribed, or was asked before.',
  'get /searches/{id}/matches': 'The properties that began to satisfy the search, the newest match first.',
  'get /matches': `The properties that began to satisfy a search: any of yours unless one is named. ${FILTERED}`,
  'get /matches/{id}': 'A match with the property document as it is now.',
  'get /searches/{id}/deliveries': 'What was sent for the search, or will be, newest first, with every attempt.',
  'get /deliveries': `What was sent, or will be, for any of your searches, with every attempt. By search, match or property (itself, one of its adverts, or the address of one) all of it is listed, otherwise the newest 10,000, among which the other filters look. ${FILTERED}`,
  'get /deliveries/{id}': 'A delivery: where it goes, what has become of each attempt, and when the next one is due.',
  'post /deliveries/{id}/resend':
    'Sends a webhook again, whatever has become of it: the same id, bytes and sequence, to the endpoint that its search ' +
    'has now. What was delivered, has failed or was cancelled gets six attempts of its own; what waits for its hour makes ' +
    'its next attempt now. 409 when the search has no endpoint for it, or does not want it any more.',
  'get /feed':
    'Everything that your webhooks carry, byte for byte, in the order in which it was recorded: also what was cancelled, ' +
    'and what searches that notify would get if they had an endpoint. Begin without `after`, then go on with `next`, which `Link` leads to as well: ' +
    'nothing is ever told before a cursor that you have. With `wait` the answer comes as soon as there is something. At ' +
    'most 1000 items and 8 MiB a page. The feed reaches back as far as deliveries are kept: an older cursor is a 410, ' +
    'whose `oldest` is where to begin again.',
  'get /recoveries': 'What you have had sent again, the newest first, with how far each has come.',
  'post /recoveries':
    'Sends everything since a moment again that has failed or waits for its hour, and on request what was delivered: the ' +
    'oldest first, with the same ids, bytes and sequences, beside what is new. E-mails are not sent again, nor what its ' +
    'search does not want any more. One at a time.',
  'get /recoveries/{id}': 'How far a recovery has come.',
  'delete /recoveries/{id}': 'Stops a recovery: nothing more is brought forward, and what is under way goes on.',
  'get /webhook-secrets':
    'The secrets that sign every webhook of yours beside the token of its search, the oldest first.',
  'post /webhook-secrets':
    'Makes a secret that signs every webhook of yours, for any search, beside the token of the search: a receiver needs ' +
    'this one alone. It is answered once, here. The older ones expire `overlapHours` later (24 unless said otherwise), so ' +
    'that receivers can change to the new one meanwhile. At most three are alive at a time.',
  'get /webhook-secrets/{id}': 'One of your secrets, without its value: that was answered when it was made.',
  'delete /webhook-secrets/{id}': 'Deletes a secret. Within five seconds nothing is signed with it any more.',
  'get /documents/properties':
    'Property documents by their UUIDs, unknown ones left out; without any, those that your searches have matched.',
  'get /documents/properties/{uuid}': 'A property with its adverts and their events, as it is now.',
  'get /cities': `${REFERENCE} Communes and the arrondissements of Paris, Lyon and Marseille. ${FILTERED}`,
  'get /cities/{id}': `${REFERENCE} The id is the INSEE code as a number; 2A004 is 120004.`,
  'get /departments': `${REFERENCE} All departments. ${FILTERED}`,
  'get /departments/{id}': `${REFERENCE} The id is the code as a number; 2A is 201.`,
  'get /site_categories': 'What publishers of adverts can be, for `includedSiteCategories` and its counterpart.',
  'get /site_categories/{id}': 'One category of publishers.',
  'get /users': 'Yourself, the one client that the API key belongs to.',
  'get /users/{id}': 'Yourself: `user` of each of your searches leads here.',
  'get /indicators/points_of_interest':
    'Schools, restaurants, hospitals and so on around a place, nearest first, at most 1000.',
  'get /public/location-autocomplete':
    'The cities, departments and zip codes that may be meant by what was typed so far, the most inhabitants first, each ' +
    'with the member of a search that takes it.',
  'get /webhook-tester':
    'Sends one signed webhook with a made-up match to an endpoint, at once and without retry, and answers what was sent ' +
    'and what came back. With `search` it is signed with that search’s token, without with one that the answer tells.',
};
