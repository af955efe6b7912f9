/** The texts of the editor of a search. */

import { both, english, french } from '../../../languages.ts';

export const editorWords = {
  titleExample: both('2 bedrooms in Toulon, below €300,000', 'T3 à Toulon, moins de 300 000 €'),
  where: both('Where', 'Où'),
  whereHint: both(
    'A property must be in one of these places. Without a place, it may be anywhere.',
    'Un bien doit être dans l’un de ces lieux. Sans lieu, la recherche porte partout.',
  ),
  addPlace: both('Add a city, a department or a zip code', 'Ajouter une ville, un département ou un code postal'),
  placeExample: 'Toulon, Var, 75011…',
  publisherExample: both('Name of an agency…', 'Nom d’une agence…'),
  excludePlace: both('Exclude a place', 'Exclure un lieu'),
  moreWhere: both('Other places, points of interest', 'Autres lieux, points d’intérêt'),
  addAlternative: both('Add an alternative', 'Ajouter une alternative'),
  removeAlternative: (at: number) => both(`Remove “or ${at}”`, `Retirer « ou ${at} »`),
  everyProperty: both('Every property', 'Tous les biens'),
  orNumber: (at: number) => both(`or ${at}`, `ou ${at}`),
  toCorrect: both('to correct', 'à corriger'),
  everyHint: both(
    'Every property must meet these criteria, and all those of at least one “or” tab.',
    'Chaque bien doit remplir ces critères, et tous ceux d’au moins un onglet « ou ».',
  ),
  alternativeHint: both(
    'Set only criteria that “Every property” leaves open. Without a criterion, this alternative is not saved.',
    'N’indiquez que des critères absents de « Tous les biens ». Sans critère, cette alternative n’est pas enregistrée.',
  ),
  addPoint: both('Add a point of interest', 'Ajouter un point d’intérêt'),
  point: (at: number) => both(`Point of interest ${at}`, `Point d’intérêt ${at}`),
  pointLimits: { within: both('at most (km)', 'à au plus (km)'), beyond: both('at least (km)', 'à au moins (km)') },
  facility: both('facility', 'établissement'),
  limit: both('near or far', 'proximité'),
  distanceKm: 'distance (km)',
  schoolType: both('school type', 'type d’école'),
  operatorType: both('operator', 'secteur'),
  schoolTypes: {
    '': both('any level', 'tout niveau'),
    maternelle: both('nursery school', 'maternelle'),
    élémentaire: both('elementary school', 'élémentaire'),
    primaire: both('primary school', 'primaire'),
    collège: both('middle school', 'collège'),
    lycée: both('high school', 'lycée'),
    secondaire: both('secondary school', 'secondaire'),
  },
  operatorTypes: {
    '': both('any operator', 'tout secteur'),
    public: 'public',
    private: both('private', 'privé'),
  },
  inseeHint: both('Separated by commas: 83137, 83126.', 'Séparés par des virgules : 83137, 83126.'),
  drawOnMap: both('Draw on the map', 'Dessiner sur la carte'),
  drawingTools: {
    circle: both('Draw a circle', 'Dessiner un cercle'),
    shapes: both('Draw a polygon', 'Dessiner un polygone'),
    excludedShapes: both('Draw a polygon to exclude', 'Dessiner un polygone à exclure'),
  },
  polygon: (at: number, corners: number) =>
    both(
      `Polygon ${at}${corners > 0 ? ` (${english(corners, 'corner', 'corners')}: lon,lat;lon,lat…)` : ''}`,
      `Polygone ${at}${corners > 0 ? ` (${french(corners, 'sommet', 'sommets')} : lon,lat;lon,lat…)` : ''}`,
    ),
  home: both('The home', 'Le logement'),
  moreHome: both('The home: floor, energy, features…', 'Le logement : étage, DPE, équipements…'),
  money: both('Price and costs', 'Prix et charges'),
  market: (type: string, place: string, median: string, count: string) =>
    both(
      `Market: ${type}, ${place}: median ${median}/m² of ${count} properties.`,
      `Marché : ${type}, ${place} : médiane de ${median}/m² sur ${count} biens.`,
    ),
  moreMoney: both('Other amounts', 'Autres montants'),
  moreCriteria: both('More criteria', 'Autres critères'),
  wordsLegend: both('Words of the advert', 'Mots de l’annonce'),
  word: both('word or phrase', 'mot ou expression'),
  presence: both('presence', 'présence'),
  form: both('form', 'forme'),
  contains: both('contains', 'contient'),
  containsNot: both('does not contain', 'ne contient pas'),
  anyForm: both('in any form', 'sous toutes ses formes'),
  exactPhrase: both('exactly', 'exactement'),
  addWord: both('Add a word', 'Ajouter un mot'),
  andWord: both('and another word', 'et un autre mot'),
  orWord: both('or else…', 'ou bien…'),
  and: both('and', 'et'),
  or: both('or', 'ou'),
  alternative: (at: number) => both(`Alternative ${at}`, `Possibilité ${at}`),
  noWord: both('No condition on the text.', 'Aucune condition sur le texte.'),
  textSentence: (conditions: string) => both(`The text ${conditions}.`, `Le texte ${conditions}.`),
  wordSentence: (word: string, includes: boolean, strict: boolean) =>
    both(
      `${includes ? 'contains' : 'does not contain'} “${word}” ${strict ? 'exactly' : 'in any form'}`,
      `${includes ? 'contient' : 'ne contient pas'} « ${word} » ${strict ? 'exactement' : 'sous toutes ses formes'}`,
    ),
  wordHits: (count: string) =>
    both(`Properties with such a text: ${count}.`, `Biens dont le texte convient : ${count}.`),
  notifications: 'Notifications',
  forPrograms: both('For your programs', 'Pour vos programmes'),
  outlook: {
    off: both('Notifications are off: nothing will be sent.', 'Notifications désactivées : rien ne sera envoyé.'),
    nowhere: both(
      'Nothing will be sent: give an e-mail address or a webhook.',
      'Rien ne sera envoyé : indiquez une adresse e-mail ou un webhook.',
    ),
    byMail: both('by e-mail', 'par e-mail'),
    byWebhook: both('by webhook', 'par webhook'),
    will(matches: string, events: string) {
      if (matches === events) {
        return both(
          `New properties and the chosen events will be sent ${matches}.`,
          `Les nouveaux biens et les événements choisis seront envoyés ${matches}.`,
        );
      }
      if (events === '') {
        return both(`New properties will be sent ${matches}.`, `Les nouveaux biens seront envoyés ${matches}.`);
      }
      if (matches === '') {
        return both(`The chosen events will be sent ${events}.`, `Les événements choisis seront envoyés ${events}.`);
      }
      return both(
        `New properties will be sent ${matches}, the chosen events ${events}.`,
        `Les nouveaux biens seront envoyés ${matches}, les événements choisis ${events}.`,
      );
    },
    mailFaults: {
      unavailable: both(
        'No e-mail will be sent: this service has no mail server.',
        'Aucun e-mail ne partira : ce service n’a pas de serveur d’envoi.',
      ),
      refused: both(
        'No e-mail will be sent: the recipient’s server refuses this address. Correct it.',
        'Aucun e-mail ne partira : le serveur du destinataire refuse cette adresse. Corrigez-la.',
      ),
      unsubscribed: both(
        'No e-mail will be sent: the recipient has unsubscribed.',
        'Aucun e-mail ne partira : le destinataire s’est désabonné.',
      ),
      'consent-missing': both(
        'No e-mail will be sent: state the recipient’s consent first.',
        'Aucun e-mail ne partira : indiquez d’abord le consentement du destinataire.',
      ),
    },
    noMatches: both(
      'New properties will not be sent: they need an e-mail address or a webhook.',
      'Les nouveaux biens ne partiront pas : il leur faut une adresse e-mail ou un webhook.',
    ),
    noEvents: both(
      'The chosen events will not be sent: they need an e-mail address or a webhook.',
      'Les événements choisis ne partiront pas : il leur faut une adresse e-mail ou un webhook.',
    ),
    noKinds: both(
      'The webhook of events will receive nothing: no event is chosen.',
      'Le webhook des événements ne recevra rien : aucun événement n’est choisi.',
    ),
  },
  publicTitleHint: both(
    'Recipients of e-mails see this title, never the other one. If it is empty, they see the criteria in words.',
    'Les destinataires des e-mails voient ce titre, jamais l’autre. S’il est vide, ils voient les critères en toutes lettres.',
  ),
  contextHint: both(
    'Your own data, returned with the search and sent in the header Vigie-Context.',
    'Vos propres données, renvoyées avec la recherche et envoyées dans l’en-tête Vigie-Context.',
  ),
  publicNameHint: (name: string) =>
    both(
      `Recipients see that you, “${name}”, send these e-mails.`,
      `Les destinataires voient que vous, « ${name} », envoyez ces e-mails.`,
    ),
  consentHint: both(
    'State how the consent was given, for example “form on the website”. Its date is the day on which you type this.',
    'Indiquez comment le consentement a été donné, par exemple « formulaire du site ». Sa date est celle de la saisie.',
  ),
  consentOf: (day: string) => both(`Consent of ${day}`, `Consentement du ${day}`),
  notJson: both('This is not valid JSON.', 'Ce n’est pas du JSON valide.'),
  preview: both('Preview', 'Aperçu'),
  previewWaits: both(
    'The preview resumes once the fields are valid.',
    'L’aperçu reprend dès que les champs sont valides.',
  ),
  satisfyNow: (count: number) =>
    both(
      count === 1 ? 'property satisfies the search now' : 'properties satisfy the search now',
      count < 2 ? 'bien convient aujourd’hui' : 'biens conviennent aujourd’hui',
    ),
  perDay: both('a day', 'par jour'),
  flood: (count: string) =>
    both(`About ${count} matches a day. Is that intended?`, `Environ ${count} biens par jour. Est-ce bien voulu ?`),
  knownSince: (day: string, hasMean: boolean) =>
    both(
      hasMean
        ? `Average without ${day}, the first day with data.`
        : `No daily average yet: ${day} is the first day with data.`,
      hasMean
        ? `Moyenne sans le ${day}, premier jour avec des données.`
        : `Pas encore de moyenne par jour : le ${day} est le premier jour avec des données.`,
    ),
  lessThan: (few: string) => both(`less than ${few}`, `moins de ${few}`),
  whatCosts: both('Criteria that exclude the most properties', 'Critères qui écartent le plus de biens'),
  without: (criterion: string) => both(`without “${criterion}”`, `sans « ${criterion} »`),
  save: both('Save', 'Enregistrer'),
  saved: both('Saved.', 'Enregistré.'),
  discard: both('Discard the changes', 'Annuler les modifications'),
  copy: both('Copy', 'Copier'),
  copyOf: (title: string) => both(`${title} (copy)`, `${title} (copie)`),
  remove: both('Delete', 'Supprimer'),
  removeQuestion: (title: string) =>
    both(
      `Delete the search “${title}”? Its pending deliveries are cancelled.`,
      `Supprimer la recherche « ${title} » ? Ses envois en attente sont annulés.`,
    ),
  violationsAbove: (count: number) =>
    both(
      `Correct the ${count === 1 ? 'field' : 'fields'} in red.`,
      `Corrigez ${count < 2 ? 'le champ' : 'les champs'} en rouge.`,
    ),
  changedUnread: both(
    'This search has changed in the meantime and is shown in its current state. To delete it, try again.',
    'Cette recherche a été modifiée entre-temps et s’affiche dans son état actuel. Pour la supprimer, réessayez.',
  ),
  changedMeanwhile: (members: string) =>
    both(
      `This search has changed in the meantime (${members}). Its current state is shown with your changes. Save them again, or discard them.`,
      `Cette recherche a été modifiée entre-temps (${members}). Son état actuel s’affiche avec vos modifications. Enregistrez-les de nouveau, ou annulez-les.`,
    ),
  coordinates: both('Coordinates', 'Coordonnées'),
  polygons: both('Polygons', 'Polygones'),
};
