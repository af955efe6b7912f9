/** The texts of the page. */

import { both, counted, english, french } from '../../../languages.ts';
import { editorWords } from './editor-words.ts';
import { terms } from './terms.ts';

export const words = {
  ...terms,
  ...editorWords,
  ofMember: (member: string, message: string) => both(`${member}: ${message}`, `${member} : ${message}`),
  title: both('Vigie console', 'Console Vigie'),
  titleOf: (view: string) => `${view} – Vigie`,
  skip: both('Skip to the content', 'Aller au contenu'),
  salePreselected: both(
    '“Sale” is preselected. Choose another value if needed.',
    '« Vente » est présélectionné. Choisissez une autre valeur si besoin.',
  ),
  searchesEnd: (shown: number, total: number) =>
    both(
      `The list shows the first ${shown.toLocaleString('en')} of ${total.toLocaleString('en')} searches by title. Use the filter to find the others.`,
      `La liste affiche les ${shown.toLocaleString('fr')} premières recherches sur ${total.toLocaleString('fr')}, par titre. Utilisez le filtre pour trouver les autres.`,
    ),
  showSecret: both('Show the secret', 'Montrer le secret'),
  noStreets: both('This map has no streets', 'Cette carte n’a pas de rues'),
  howToGetStreets: both(
    'The operator of the service can add a tile server with two settings, for example:',
    'L’exploitant du service peut ajouter un serveur de tuiles avec deux réglages, par exemple :',
  ),
  tilesUsagePolicy: both(
    'Read the usage policy of this server first.',
    'Lisez d’abord les conditions d’utilisation de ce serveur.',
  ),
  wholeMap: both('Show all', 'Tout voir'),
  zoomIn: both('Zoom in', 'Agrandir'),
  zoomOut: both('Zoom out', 'Réduire'),
  otherLanguage: both('Français', 'English'),
  signIn: both('Enter', 'Entrer'),
  signOut: both('Sign out', 'Se déconnecter'),
  replaceKey: both(
    'This link contains another API key. Replace the current key with it?',
    'Ce lien contient une autre clé d’API. L’utiliser à la place de la clé actuelle ?',
  ),
  welcome: both(
    'Your property searches on a map, with new matches in real time.',
    'Vos recherches immobilières sur une carte, avec les nouveaux biens en temps réel.',
  ),
  apiKey: both('API key', 'Clé d’API'),
  apiKeyHint: both(
    'The key stays in this tab, and is sent only to this service.',
    'La clé reste dans cet onglet, et n’est envoyée qu’à ce service.',
  ),
  wrongKey: both('This key is unknown or revoked. Enter another.', 'Clé inconnue ou révoquée. Entrez-en une autre.'),
  lost: both(
    'The service does not answer. The page resumes as soon as the service is available.',
    'Le service ne répond pas. La page reprend dès que le service est disponible.',
  ),
  unreachable: both('The service does not answer.', 'Le service ne répond pas.'),
  again: both('Try again', 'Réessayer'),
  loading: both('Loading…', 'Chargement…'),
  cancel: both('Cancel', 'Annuler'),
  close: both('Close', 'Fermer'),
  back: both('Back', 'Retour'),
  yes: both('yes', 'oui'),
  no: both('no', 'non'),
  either: both('Either', 'Indifférent'),
  min: 'minimum',
  max: 'maximum',
  sources: both(
    'Communes: La Poste, INSEE; outlines: IGN Admin Express (Licence Ouverte 2.0). Forms of words: Grammalecte (MPL 2.0).',
    'Communes : La Poste, INSEE ; contours : IGN Admin Express (Licence Ouverte 2.0). Formes des mots : Grammalecte (MPL 2.0).',
  ),
  about: both('about', 'environ'),
  andMore: (count: number) => both(`and ${count.toLocaleString('en')} more`, `et ${french(count, 'autre', 'autres')}`),
  removeOne: (what: string) => both(`Remove ${what}`, `Retirer ${what}`),

  search: both('Search', 'Recherche'),
  allSearches: (count: number) =>
    both(`All searches (${count.toLocaleString('en')})`, `Toutes les recherches (${count.toLocaleString('fr')})`),
  period: both('Period', 'Période'),
  kinds: both('Kinds', 'Types'),
  newMatch: both('New', 'Nouveau'),
  newCount: (count: number) =>
    both(
      count < 1_000 ? `${count} new` : 'more than 999 new',
      count < 1_000 ? french(count, 'nouveau', 'nouveaux') : 'plus de 999 nouveaux',
    ),
  marks: both('Marks', 'Marques'),
  unmarked: both('All but hidden ones', 'Tous, sauf masqués'),
  marked: { kept: both('Kept', 'Gardés'), hidden: both('Hidden', 'Masqués') },
  mark: { kept: both('Keep', 'Garder'), hidden: both('Hide', 'Masquer') },
  markFor: (title: string) => both(`For “${title}”`, `Pour « ${title} »`),
  note: 'Note',
  saveNote: both('Save the note', 'Enregistrer la note'),
  untitled: both('Untitled', 'Sans titre'),
  noSearch: both('No search yet: draw one', 'Pas encore de recherche : dessinez-en une'),
  noSearchHint: both(
    'Set a circle, a polygon or a city, and a budget. Matching properties appear on the map.',
    'Choisissez un cercle, un polygone ou une ville, et un budget. Les biens trouvés apparaissent sur la carte.',
  ),
  drawFirst: both('Draw a search', 'Dessiner une recherche'),
  notifiedCount: counted(['notified property', 'notified properties'], ['bien notifié', 'biens notifiés']),
  showNew: (count: number) =>
    both(
      `Show ${english(count, 'new property', 'new properties')}`,
      `Afficher ${french(count, 'nouveau bien', 'nouveaux biens')}`,
    ),
  order: both('Sort by', 'Trier par'),
  orders: {
    newest: both('Newest', 'Plus récents'),
    price: both('Lowest price', 'Prix croissant'),
    pricePerMeter: both('Lowest price per m²', 'Prix au m² croissant'),
    surface: both('Largest', 'Surface décroissante'),
  },
  filterResults: both('Title, city…', 'Titre, ville…'),
  rooms: counted(['room', 'rooms'], ['pièce', 'pièces']),
  asCsv: both('Export (CSV)', 'Exporter (CSV)'),
  foundNow: (count: number, isEstimated: boolean) =>
    both(
      `${english(count, 'property', 'properties')} found now${isEstimated ? ', among those that changed last' : ''}`,
      `${french(count, 'bien trouvé', 'biens trouvés')} à présent${isEstimated ? ', parmi les derniers modifiés' : ''}`,
    ),
  atThisPlace: (count: number) =>
    both(
      `${english(count, 'property', 'properties')} at this location`,
      `${french(count, 'bien', 'biens')} à cet endroit`,
    ),
  noMatchYet: both(
    'No property matches these filters. Change or clear them.',
    'Aucun bien ne correspond à ces filtres. Modifiez-les ou retirez-les.',
  ),

  forgotten: both(
    'This property expired long ago and is no longer stored.',
    'Ce bien a expiré il y a longtemps et n’est plus conservé.',
  ),
  placedByCity: both('placed at the centre of its commune', 'placé au centre de la commune'),
  showOnMap: both('Show on the map', 'Voir sur la carte'),
  whyThis: both('Why this property?', 'Pourquoi ce bien ?'),
  forWhom: both('For whom?', 'Pour qui ?'),
  transaction: 'Transaction',
  atFloor: (floor: number) =>
    both(floor === 0 ? 'ground floor' : `floor ${floor}`, floor === 0 ? 'rez-de-chaussée' : `étage ${floor}`),
  seen: both('Seen', 'Vu le'),
  priceHistory: both('Price history', 'Historique du prix'),
  pictures: counted(['picture', 'pictures'], ['photo', 'photos']),
  picture: (at: number) => both(`Picture ${at}`, `Photo ${at}`),
  adverts: counted(['advert', 'adverts'], ['annonce', 'annonces']),
  energy: both('Energy', 'DPE'),
  openAdvert: both('Open the advert', 'Voir l’annonce'),
  deliveriesOf: both('Deliveries of this search', 'Envois de cette recherche'),
  sentWhere: both('What was sent, and where', 'Ce qui est parti, et où'),
  nothingSent: both(
    'No delivery is stored: the search had no endpoint and no e-mail address, or its deliveries are too old.',
    'Aucun envoi n’est conservé : la recherche n’avait ni webhook ni adresse e-mail, ou ses envois sont trop anciens.',
  ),
  attempts: counted(['attempt', 'attempts'], ['tentative', 'tentatives']),

  newSearch: both('New search', 'Nouvelle recherche'),
  filterSearches: both('Title, recipient, context…', 'Titre, destinataire, contexte…'),
  noSearchFound: both('No search matches this filter.', 'Aucune recherche ne correspond à ce filtre.'),
  matchedLast7Days: (count: number) =>
    both(
      `${english(count, 'match', 'matches')}${count === 1_000 ? ' or more' : ''} in 7 days`,
      `${french(count, 'bien trouvé', 'biens trouvés')}${count === 1_000 ? ' ou plus' : ''} en 7 jours`,
    ),
  neverAlerted: both('No alert yet', 'Aucune alerte encore'),
  lastAlert: (at: string) => both(`Last alert ${at}`, `Dernière alerte le ${at}`),
  notifyFor: (title: string) => both(`Notifications of “${title}”`, `Notifications de « ${title} »`),
  circleOf: (radius: string) => both(`circle of ${radius} km`, `cercle de ${radius.replace('.', ',')} km`),
  polygonCount: counted(['polygon', 'polygons'], ['polygone', 'polygones']),
  everywhere: both('everywhere', 'partout'),

  state: both('State', 'État'),
  channel: both('Channel', 'Canal'),
  kindOfEvent: both('Kind of event', 'Type d’événement'),
  allStates: both('All states', 'Tous les états'),
  allChannels: both('All channels', 'Tous les canaux'),
  allEvents: both('All events', 'Tous les événements'),
  noDelivery: both('No deliveries match these filters', 'Aucun envoi ne correspond à ces filtres'),
  noDeliveryHint: both(
    'Webhooks and e-mails of your searches appear here.',
    'Les webhooks et les e-mails de vos recherches apparaissent ici.',
  ),
  resend: both('Send again', 'Renvoyer'),
  resending: both('Sending again…', 'Renvoi en cours…'),
  resent: (answer: string, isTaken: boolean) =>
    both(
      `${isTaken ? 'Sent again' : 'Sent again without success'}: ${answer}.`,
      `${isTaken ? 'Renvoyé' : 'Renvoyé sans succès'} : ${answer}.`,
    ),
  contactsWithheld: both(
    'The search no longer includes contacts. They are removed below.',
    'La recherche ne transmet plus les contacts. Ils sont retirés ci-dessous.',
  ),
  openProperty: both('Open the property', 'Voir le bien'),
  openSearch: both('Open the search', 'Voir la recherche'),
  dueNow: both('due now', 'tentative imminente'),
  firstAttempt: (clock: string) => both(`sent in ${clock}`, `envoi dans ${clock}`),
  nextAttempt: (clock: string) => both(`next attempt in ${clock}`, `prochaine tentative dans ${clock}`),
  noAttempt: both('No attempt yet.', 'Aucune tentative encore.'),
  underWay: both('in progress', 'en cours'),
  newer: both('Newer', 'Plus récents'),
  older: both('Older', 'Plus anciens'),
  pageOf: (page: number, last: number) => both(`Page ${page} of ${last}`, `Page ${page} sur ${last}`),
  whichAdvert: both(
    'Address of the advert, or id of the property or advert',
    'Adresse de l’annonce, ou identifiant du bien ou de l’annonce',
  ),
  whichAdvertHint: both('Paste the address that the browser shows.', 'Collez l’adresse affichée par le navigateur.'),
  explain: both('Explain', 'Expliquer'),
  whyEmpty: both(
    'Paste the address of an advert to see which searches find it, and why the others do not',
    'Collez l’adresse d’une annonce pour voir quelles recherches la trouvent, et pourquoi les autres non',
  ),
  whichSearch: both('For which search?', 'Pour quelle recherche ?'),
  satisfiedSearches: (count: number) =>
    both(`Searches that it satisfies (${count})`, `Celles qui conviennent (${count})`),
  noneSatisfied: both(
    'The property satisfies no search. Choose a search under “Why?” to see which criteria fail.',
    'Le bien ne convient à aucune recherche. Choisissez-en une sous « Pourquoi ? » pour voir ce qui l’écarte.',
  ),
  satisfied: both('satisfied', 'convient'),
  fails: counted(['criterion not met', 'criteria not met'], ['critère non rempli', 'critères non remplis']),
  holds: both('Met:', 'Rempli :'),
  holdsNot: both('Not met:', 'Non rempli :'),

  noRecipient: both('No recipient', 'Aucun destinataire'),
  unlistedRecipient: both(
    'No search sends e-mails to this address.',
    'Aucune recherche n’envoie d’e-mails à cette adresse.',
  ),
  searchCount: counted(['search', 'searches'], ['recherche', 'recherches']),
  noMail: both('No e-mail yet', 'Aucun e-mail encore'),
  lastMail: (at: string) => both(`Last e-mail ${at}`, `Dernier e-mail le ${at}`),
  noConsent: both('No consent stored', 'Aucun consentement enregistré'),
  storedData: both('Stored data', 'Données conservées'),
  asJson: both('Export (JSON)', 'Exporter (JSON)'),
  erase: both('Erase', 'Effacer'),
  eraseQuestion: (address: string) =>
    both(
      `Erase “${address}”? No e-mail will be sent to it without a new consent. Searches and their webhooks are kept.`,
      `Effacer « ${address} » ? Aucun e-mail ne lui sera envoyé sans nouveau consentement. Les recherches et leurs webhooks sont conservés.`,
    ),
  choices: {
    unsubscribedAt: both('Unsubscribed', 'Désabonné le'),
    resubscribedAt: both('Subscribed again', 'Réabonné le'),
    erasedAt: both('Erased', 'Effacé le'),
    liftedAt: both('Erasure lifted', 'Effacement levé le'),
  },

  around: both('Nearby', 'Alentours'),
  pointCount: counted(['point of interest', 'points of interest'], ['point d’intérêt', 'points d’intérêt']),
  unnamed: both('No name', 'Sans nom'),

  health: both('Health of the endpoints', 'Santé des adresses'),
  noEndpoint: both('No webhook endpoint', 'Aucune adresse de webhook'),
  noEndpointHint: both(
    'Add one to a search to receive its new properties.',
    'Ajoutez-en une à une recherche pour recevoir ses nouveaux biens.',
  ),
  backlog: (count: number) =>
    both(`${english(count, 'delivery', 'deliveries')} waiting`, french(count, 'envoi en attente', 'envois en attente')),
  sinceThen: (at: string, error: string) =>
    both(`Since ${at}${error === '' ? '' : ` (${error})`}.`, `Depuis le ${at}${error === '' ? '' : ` (${error})`}.`),
  pause: both('Pause', 'Mettre en pause'),
  resume: both('Resume', 'Reprendre'),
  sendFailedAgain: both('Send failed webhooks again', 'Renvoyer les webhooks en échec'),
  test: both('Try a webhook', 'Essayer un webhook'),
  endpoint: both('Endpoint', 'Adresse'),
  signedAs: both('Signed with the secret of', 'Signé avec le secret de'),
  signedByTest: both('the test itself', 'l’essai lui-même'),
  sendTest: both('Send a test', 'Envoyer un essai'),
  sending: both('Sending…', 'Envoi…'),
  answered: both('Answer', 'Réponse'),
  testToken: (token: string) => both(`Signed with ${token}`, `Signé avec ${token}`),
  whatWasSent: both('What was sent', 'Ce qui a été envoyé'),
  verify: both('Verify the signature', 'Vérifier la signature'),
  verifyHint: both(
    'The copied code contains the secret of the selected search.',
    'Le code copié contient le secret de la recherche choisie.',
  ),
  verifyWithoutSearch: both(
    'The copied code will contain the secret of a search once there is one.',
    'Le code copié contiendra le secret d’une recherche dès qu’il y en aura une.',
  ),
  secretOf: both('Secret of the search', 'Secret de la recherche'),
  programmingLanguage: both('Language', 'Langage'),
  copyCode: both('Copy the code', 'Copier le code'),
  copied: both('Copied', 'Copié'),
  selected: both('Selected: Ctrl+C copies it', 'Sélectionné : Ctrl+C le copie'),
  codeIn: (language: string) => both(`Verification in ${language}`, `Code de vérification en ${language}`),
};
