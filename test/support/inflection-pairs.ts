/**
 * Pairs of words from real property adverts, sorted by hand: forms of one word, and words that only look alike. They
 * are independent of the dictionary, so that they can test it.
 */

/** Each word with a form of another number, gender or spelling, or with another form of the verb in the same mood. */
export const FORMS_OF_ONE_WORD = pairs(`
  appartement appartements, maison maisons, chambre chambres, pièce pièces, jardin jardins, balcon balcons,
  terrasse terrasses, garage garages, parking parkings, cave caves, étage étages, cuisine cuisines, bain bains,
  douche douches, salon salons, bureau bureaux, placard placards, niveau niveaux, bateau bateaux, panneau panneaux,
  local locaux, bail baux, hôpital hôpitaux, eau eaux, jeu jeux, lieu lieux, école écoles, commerce commerces,
  transport transports, plage plages, commodité commodités, immeuble immeubles, résidence résidences, villa villas,
  studio studios, dressing dressings, rangement rangements, honoraire honoraires, taxe taxes,
  copropriété copropriétés, lot lots, procédure procédures, risque risques, fenêtre fenêtres, volet volets, mur murs,
  palmier palmiers, olivier oliviers, étudiant étudiante, neuf neuve, neuf neuves, neufs neuve, beau belle,
  beaux belles, bel belle, nouveau nouvelle, nouvel nouveaux, vieux vieille, blanc blanche, long longue,
  publics publiques, actif active, actifs active, doux douce, douces doux, haut haute, grand grande, petit petites,
  premier première, dernier dernière, dernières dernier, ancien ancienne, anciens anciennes, lumineux lumineuse,
  lumineuses lumineux, spacieux spacieuse, généreux généreuses, chaleureux chaleureuse, précieux précieuse,
  nombreux nombreuses, harmonieux harmonieuse, avantageux avantageuses, bas basse, bon bonne, plein pleine,
  plat plate, froid froide, privé privée, privatif privative, privatives privatifs, locatif locative,
  collectif collective, exclusif exclusive, évolutif évolutive, qualitatif qualitatives, décoratifs décorative,
  attractif attractive, sportif sportive, principal principale, principaux principales, commercial commerciaux,
  idéal idéale, familial familiale, parental parentale, patrimonial patrimoniales, mensuel mensuelle,
  annuel annuelles, individuel individuelle, traditionnel traditionnelle, exceptionnel exceptionnelles,
  naturel naturelle, réel réelle, personnel personnelles, complet complète, discret discrète, direct directe,
  parfait parfaite, parfaits parfaites, ouvert ouvertes, couvert couverte, charmant charmante, vivant vivante,
  attenant attenante, traversant traversante, haussmannien haussmannienne, méditerranéen méditerranéenne,
  provençal provençale, italien italienne, citadin citadine, contemporain contemporaine, mitoyen mitoyenne,
  moyen moyennes, quotidien quotidienne, foncier foncière, financier financières, particulier particulière,
  saisonnier saisonnière, clair claire, résidentiel résidentielle, important importantes, excellent excellente,
  équipé équipées, meublé meublées, situé situées, refait refaites, sécurisé sécurisées, entretenu entretenues,
  desservi desservie, orienté orientées, ensoleillé ensoleillée, niché nichée, dégagé dégagée, dégagées dégagé,
  doté dotée, prisé prisée, recherché recherchée, baigné baignée, conçu conçue, oeuvre œuvres, lumiere lumière,
  proprietes propriété, rénové rénovées, loué louée, vendu vendue, situé situés, meublé meublée, offre offres,
  découvrez découvrirez, prévu prévue, construit construite, refait refaites, équipé équipée, box boxes
`);

/**
 * Verb forms of other moods, plurals that are separate words, derivations, words with the same beginning, and words
 * that are nearly equal after folding.
 */
export const DIFFERENT_WORDS = pairs(`
  chaudière chaude, chaudière chauds, étagères étage, port porte, ports portes, port portail, villa ville,
  villas villes, terrasse terre, gare garantie, gare garage, exposé exposition, exposée expositions, visite vis,
  visiter vis, refaite réf, refait ref, terrain terrasse, terrain terre, jardin jardinage, jardin jardinet,
  jardin jardinière, garage gare, parking parc, parc parcelle, parc parquet, chambre chambrette, cuisine cuisson,
  bain baignoire, bain baie, bain balnéo, salle salon, salle sale, salle salé, douche doux, douche double,
  entrée entretien, séjour jour, séjours jours, placard place, placards places, niveau nid, lieu lien,
  local location, locaux location, locatif location, locataire location, locatif locataire, vendeur vente,
  vendre vente, acquéreur acquisition, acheteur achat, acheter achat, investir investissement,
  investisseur investissement, investisseur investir, constructible construction, construire construction,
  construction constructeur, rénover rénovation, rénové rénovation, équipé équipement, équipée équipements,
  aménagé aménagement, agencement agence, agence agent, exposition position, orientation orientée,
  luminosité lumineux, lumineuse lumière, lumière luminosité, clair clarté, claire éclairage, beau beauté,
  belle beauté, nouveau nouveauté, nouvelle renouveau, long longueur, longue longtemps, largement large,
  haut hauteur, grand grandiose, profond profondeur, privé privilège, actif activité, active activité, calme climat,
  climatisation climat, climatisée climat, chaleur chaleureux, chauffage chaufferie, chauffage chauffe,
  électrique électricité, commerce commercial, commerçants commerciaux, école économie, écoles économe,
  escalier escale, résidence résidentiel, résidence résident, résidence réside, copropriété propriété,
  propriété propriétaire, propriété propre, immeuble meuble, immobilier mobilier, immobilier immeuble,
  meuble mobilier, appartement apparent, appartement part, plage plan, plage place, plan plancher, plan plain,
  plain plein, mairie mer, vue visuel, vue rue, voisin voisinage, pièce pied, pierre pièce, piscine piscinable,
  palmier palier, olivier olive, toit toiture, toit toilette, toilettes toitures, mur muret, sol soleil,
  soleil ensoleillé, ensoleillée ensoleillement, soleil solaire, ombre ombragé, fruit fruitiers, boisé bois,
  porte portail, porte portillon, porte apporte, volet volume, vitrage vitrine, carré carrelage, carrelé carré,
  parquet parking, foncière fonction, fonction fonctionnel, frais fraîcheur, prix prisé, prime primaire,
  loyer louer, bail bailleur, baux beaux, bas base, état étage, état établi, étude étudiant, étudiante études,
  travail traversant, transport port, transports ports, sport sportif, moderne modernité, moderne moderniser,
  modernisé moderne, décor décoration, charmante charme, qualité qualitatif, confort confortable,
  confortable confortablement, tranquille tranquillité, sécurisé sécurité, sécurisée sécurité, facile facilement,
  facile facilité, rapide rapidement, rare rareté, idéal idée, idéalement idéal, parfait parfaitement,
  direct direction, directement directe, exclusif exclusivité, exclusive exclusivement, exception exceptionnel,
  tradition traditionnel, nature naturel, naturelle naturellement, centre central, quartier quart, ville village,
  village villa, côte coteau, bord bordé, bordure bord, nuit nuisance, habitable habitation, habiter habitation,
  habitant habitation, indépendant indépendance, rangement ranger, range grange, ouverture ouvert, ouvert ouvrage,
  couverture couvert, vis vie, vie ville, lot lotissement, loft lot, suite ensuite, duplex double, triplex triple,
  studette studio, atelier atout, atout tout, aménager aménageable, vue voie, voie voir,
  travail travaux, charge charges, rénover rénovée, rénover rénovées, rénové rénover, équiper équipée, louer louée,
  louer loués, vendre vendu, vendre vendue, acheter achetez, visiter visite, situer située, ouvrir ouvre,
  ouvrir ouvrant, offrir offre, offrir offrant, offrir offrira, bénéficier bénéficie, bénéficier bénéficiant,
  disposer dispose, disposer disposant, comprendre comprend, comprendre comprenant, séduire séduira,
  trouver trouverez, découvrir découvrez, découvrir découvrirez, venir venez, permettre permet, permettre permettra,
  permettre permettant, profiter profitez, profiter profiterez, créer créant, proposer propose, proposer proposons,
  prévoir prévu, prévoir prévue, pouvoir pourra, pouvoir pouvez, faire fait, donner donnant, donner donne,
  rejoindre rejoignez, convenir conviendra, accéder accède, accéder accédez, clôturer clôturée, sécuriser sécurisée,
  entretenir entretenue, construire construite, réunir réunit, investir investissez, garantir garantit,
  refaire refait, vendu vendre, vendu vente, cour cours, bus bois, bus boire, vue voir, vue vu, charme charmant,
  vacant vacances, comble combles, commun communs, offrir offert, louer loyer
`);

function pairs(text: string): readonly (readonly [string, string])[] {
  return text.split(',').map((pair) => {
    const [a = '', b = ''] = pair.trim().split(/\s+/);
    return [a, b];
  });
}
