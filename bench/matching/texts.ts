/** Advert texts of 50 to 130 words, and words that searches look for. */

import type { Random } from './random.ts';

const TITLES = [
  'Appartement lumineux avec balcon',
  'Maison familiale avec jardin et garage',
  'Studio rénové proche du centre',
  'Bel appartement de caractère, vue dégagée',
  'Villa contemporaine avec piscine',
  'Exclusivité : dernier étage avec terrasse',
];

const SENTENCES = [
  "Situé au cœur d'un quartier recherché, ce bien entièrement rénové vous séduira par sa luminosité et ses volumes.",
  "Il se compose d'une entrée, d'un séjour avec balcon, d'une cuisine équipée et de deux chambres.",
  'Une cave et une place de parking en sous-sol complètent ce bien.',
  'Proche des commerces, des écoles et des transports, à dix minutes à pied de la gare.',
  'Charges de copropriété : 1 200 € par an, chauffage collectif, double vitrage, gardien, digicode et ascenseur.',
  'La maison offre une vaste pièce de vie ouverte sur une terrasse exposée plein sud et un jardin clos arboré.',
  'À l’étage : quatre chambres, dont une suite parentale avec dressing, et une salle de bains avec baignoire.',
  'Au calme, sans vis-à-vis, avec une vue dégagée sur le parc.',
  'Piscine chauffée, cuisine d’été, garage double et dépendances.',
  'Travaux à prévoir : toiture et électricité ; idéal investisseur ou premier achat.',
  'Résidence récente et sécurisée avec espaces verts et local à vélos.',
  'Parquet, moulures et cheminées : tout le charme de l’ancien dans un immeuble haussmannien.',
  'Vue mer exceptionnelle depuis la grande terrasse, plage à 300 mètres.',
  'Loué meublé, bail en cours, rendement intéressant.',
  'Honoraires à la charge du vendeur. À visiter rapidement !',
  'Chauffage par pompe à chaleur, panneaux solaires, très bon diagnostic énergétique.',
  'Grand terrain constructible et viabilisé, hors lotissement, libre de constructeur.',
  'Plain-pied, accès handicapés, climatisation réversible.',
];

const SEARCHED = [
  'balcon',
  'terrasse',
  'jardin',
  'piscine',
  'garage',
  'parking',
  'cave',
  'ascenseur',
  'vue mer',
  'cheminée',
  'calme',
  'rénové',
  'travaux',
  'dernier étage',
  'lumineux',
  'sans vis-à-vis',
  'plain-pied',
  'meublé',
  'viager',
  'parquet',
  'loft',
  'duplex',
  'dépendance',
  'climatisation',
  'véranda',
  'sous-sol',
  'gare',
  'métro',
  'plage',
  'constructible',
  'investisseur',
  'haussmannien',
  'suite parentale',
  'cuisine équipée',
  'double vitrage',
  'lotissement',
  'résidence',
  'grange',
  'atelier',
  'pompe à chaleur',
  'cœur de ville',
  'colocation',
  'péniche',
  'étang',
  'puits',
  'longère',
  'bastide',
  'mitoyen',
  'copropriété',
  'rez-de-chaussée',
];

/** Words by popularity: the n-th is drawn in proportion to 1/n, a tenth with a number appended to make them rare. */
export const WORDS = {
  draw(random: Random): string {
    const rank = Math.min(SEARCHED.length - 1, Math.floor(SEARCHED.length ** random.next()) - 1);
    const word = SEARCHED[Math.max(0, rank)] as string;
    return random.chance(0.1) ? `${word} ${random.integer(1, 500)}` : word;
  },
};

/** Returns a title and a description. */
export function describe(random: Random): string[] {
  const sentences: string[] = [];
  for (let count = random.integer(4, 9); count > 0; count--) sentences.push(random.one(SENTENCES));
  return [`${random.one(TITLES)} - ref ${random.integer(1000, 99_999)}`, sentences.join(' ')];
}
