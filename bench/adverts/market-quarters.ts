/**
 * Where the adverts of the demonstration's market are located: quarters of towns with their streets, prices and French
 * names. Prices are near those of 2025. Each street is a straight line near the real street.
 */

import type { Random } from './seeded-random.ts';

export interface Quarter {
  readonly insee: string;
  /** The name in a title. */
  readonly name: string;
  /** The name after a noun, as in “École du Mourillon”. */
  readonly of: string;
  /** The name at the beginning of a description: “Au Mourillon”. */
  readonly in: string;
  /** Euros per m² of a flat: price of a sale, and monthly rent. */
  readonly salePrice: number;
  readonly rent: number;
  /** A quarter with twice the weight of another has, on average, twice its homes. */
  readonly weight: number;
  /** True if some homes have a view of the sea. */
  readonly hasSea: boolean;
  /** True if the quarter has houses and building land; elsewhere a flat is drawn instead. */
  readonly hasHouses: boolean;
  /** True if most buildings date from before 1940. */
  readonly isOld: boolean;
  /** Completes a sentence, as in “…, à deux pas du marché”. */
  readonly near: string;
  readonly streets: readonly Street[];
}

interface Point {
  readonly lat: number;
  readonly lon: number;
}
type Street = readonly [from: Point, to: Point];

/** Columns: code, name, of, in, price per m², monthly rent, weight, flags, near, streets. */
const TABLE = `
83137 | Le Mourillon | du Mourillon | Au Mourillon | 4700 | 15.5 | 9 | sea houses | à trois minutes à pied des plages | 43.1151,5.9372>43.1096,5.9392;43.1130,5.9352>43.1090,5.9368;43.1120,5.9378>43.1100,5.9440;43.1093,5.9412>43.1098,5.9497
83137 | Haute-Ville | de la Haute-Ville | En Haute-Ville | 3400 | 13.8 | 8 | old | à deux pas de l’Opéra et de la gare | 43.1252,5.9262>43.1262,5.9336;43.1281,5.9299>43.1255,5.9291;43.1272,5.9281>43.1276,5.9330
83137 | Vieille ville | de la vieille ville | Dans la vieille ville | 2850 | 13.5 | 5 | old | à deux rues du marché du cours Lafayette | 43.1243,5.9309>43.1218,5.9312;43.1244,5.9341>43.1217,5.9338;43.1232,5.9300>43.1228,5.9350
83137 | Le port | du port | Face au port | 3500 | 14.6 | 3 | sea | à cinq minutes à pied du marché et des navettes maritimes | 43.1214,5.9285>43.1210,5.9350
83137 | Saint-Roch | de Saint-Roch | À Saint-Roch | 2550 | 12.4 | 5 |  | à dix minutes à pied de la gare | 43.1295,5.9155>43.1303,5.9240;43.1318,5.9180>43.1285,5.9195
83137 | Pont-du-Las | du Pont-du-Las | Au Pont-du-Las | 2400 | 12 | 5 |  | à deux pas du marché et des commerces | 43.1282,5.9160>43.1296,5.9068;43.1300,5.9120>43.1275,5.9110
83137 | Saint-Jean-du-Var | de Saint-Jean-du-Var | À Saint-Jean-du-Var | 2650 | 12.6 | 6 | houses | à proximité immédiate des commerces et des bus | 43.1230,5.9455>43.1236,5.9562;43.1255,5.9500>43.1222,5.9512
83137 | Aguillon | de l’Aguillon | À l’Aguillon | 3150 | 13 | 3 | houses | entre le centre-ville et les plages | 43.1164,5.9465>43.1190,5.9512;43.1190,5.9470>43.1168,5.9500
83137 | Champ-de-Mars | du Champ-de-Mars | Au Champ-de-Mars | 2600 | 12.8 | 4 |  | face aux platanes de la place | 43.1240,5.9400>43.1226,5.9448
83137 | La Rode | de la Rode | À la Rode | 2800 | 13.2 | 3 |  | près du stade Mayol et du port | 43.1190,5.9375>43.1172,5.9440
83137 | Cap Brun | du Cap Brun | Au Cap Brun | 6300 | 17 | 4 | sea houses | à quelques minutes du sentier des douaniers | 43.1118,5.9565>43.1102,5.9680;43.1128,5.9620>43.1108,5.9710
83137 | La Serinette | de la Serinette | À la Serinette | 3650 | 13.6 | 3 | houses | au calme, à cinq minutes des plages en voiture | 43.1180,5.9565>43.1200,5.9650
83137 | Brunet | de Brunet | À Brunet | 2700 | 12.3 | 3 | houses | près de l’hôpital Sainte-Musse et de l’autoroute | 43.1262,5.9560>43.1272,5.9640
83137 | Siblas | de Siblas | À Siblas | 4700 | 14.2 | 4 | houses sea | sur les premières pentes du Faron, au grand calme | 43.1340,5.9400>43.1330,5.9500;43.1318,5.9420>43.1302,5.9555
83137 | La Loubière | de la Loubière | À la Loubière | 3650 | 13.4 | 2 | houses | à dix minutes à pied du centre | 43.1272,5.9400>43.1280,5.9470
83137 | Sainte-Anne | de Sainte-Anne | À Sainte-Anne | 3750 | 13.5 | 3 | houses | dominant la ville, à deux minutes de l’hôpital Sainte-Anne | 43.1355,5.9260>43.1385,5.9340
83137 | Claret | de Claret | À Claret | 2650 | 12.4 | 2 | houses | à cinq minutes à pied de la gare | 43.1312,5.9225>43.1318,5.9290
83137 | Les Routes | des Routes | Aux Routes | 3500 | 13 | 2 | houses | près des écoles et des commerces du quartier | 43.1395,5.9020>43.1425,5.9055
83126 | Les Sablettes | des Sablettes | Aux Sablettes | 4100 | 14.5 | 2 | sea houses | à trois cents mètres de la plage | 43.0808,5.8860>43.0822,5.8935
83126 | La Seyne, centre | du centre de La Seyne | Au centre de La Seyne | 2500 | 12.2 | 2 | old | à deux pas du port et des navettes pour Toulon | 43.1025,5.8765>43.0995,5.8830
83144 | La Valette-du-Var | de La Valette | À La Valette | 3500 | 13.4 | 2 | houses | à proximité du village et de ses écoles | 43.1370,5.9790>43.1385,5.9880
83062 | La Garde | de La Garde | À La Garde | 3400 | 13.5 | 2 | houses | près de la gare et de l’université | 43.1235,6.0060>43.1265,6.0140
83098 | Le Pradet | du Pradet | Au Pradet | 4600 | 15 | 1 | houses | entre le village et les Oursinières | 43.1055,6.0190>43.1065,6.0290
83069 | Hyères, centre | du centre d’Hyères | Au centre d’Hyères | 3700 | 14 | 2 | houses | à deux pas de l’avenue Gambetta | 43.1200,6.1265>43.1170,6.1300
83123 | Sanary, centre | du centre de Sanary | Au centre de Sanary | 5200 | 16 | 1 | sea houses | à cinq minutes à pied du port | 43.1190,5.8000>43.1215,5.8040
75118 | Paris 18e, Montmartre | de Montmartre | À Montmartre | 10200 | 34 | 5 | old | à deux pas de la rue des Abbesses et du métro Lamarck-Caulaincourt | 48.8866,2.3305>48.8897,2.3385;48.8845,2.3345>48.8858,2.3405
75118 | Paris 18e, Jules-Joffrin | de Jules-Joffrin | Près de la mairie du 18e | 8900 | 32 | 3 | old | au pied du métro Jules-Joffrin | 48.8925,2.3400>48.8918,2.3550
75111 | Paris 11e, Oberkampf | d’Oberkampf | À Oberkampf | 9900 | 34 | 4 | old | à trois minutes du métro Parmentier | 48.8645,2.3695>48.8667,2.3800;48.8640,2.3720>48.8600,2.3790
75111 | Paris 11e, Voltaire | de Voltaire | Près de la place Léon-Blum | 9600 | 33 | 3 | old | à deux pas du métro Voltaire | 48.8595,2.3775>48.8550,2.3855
75115 | Paris 15e, Commerce | du Commerce | Rue du Commerce | 9500 | 33 | 4 |  | au cœur d’un quartier commerçant et familial | 48.8485,2.2965>48.8440,2.2938
75115 | Paris 15e, Convention | de Convention | À Convention | 9200 | 32 | 3 |  | à deux minutes du métro Convention | 48.8410,2.3040>48.8355,2.2930
75120 | Paris 20e, Gambetta | de Gambetta | À Gambetta | 8600 | 31 | 3 | old | près de la mairie du 20e et du parc | 48.8690,2.3925>48.8600,2.4000
75120 | Paris 20e, Ménilmontant | de Ménilmontant | À Ménilmontant | 8700 | 31 | 2 | old | à deux pas du métro Ménilmontant | 48.8670,2.3850>48.8688,2.3960
75117 | Paris 17e, Batignolles | des Batignolles | Aux Batignolles | 10400 | 35 | 4 | old | à cinq minutes du square et du marché couvert | 48.8838,2.3222>48.8868,2.3195;48.8825,2.3170>48.8850,2.3140
75110 | Paris 10e, canal Saint-Martin | du canal Saint-Martin | Au bord du canal Saint-Martin | 9800 | 34 | 3 | old | entre République et Jaurès | 48.8710,2.3655>48.8790,2.3680
75116 | Paris 16e, Auteuil | d’Auteuil | À Auteuil | 10600 | 34 | 3 | old | à proximité des écoles et du jardin du Ranelagh | 48.8550,2.2688>48.8495,2.2655
75113 | Paris 13e, Butte-aux-Cailles | de la Butte-aux-Cailles | À la Butte-aux-Cailles | 9300 | 32 | 3 |  | entre la place d’Italie et la place Paul-Verlaine | 48.8283,2.3490>48.8268,2.3540
75105 | Paris 5e, Mouffetard | de Mouffetard | Près de la rue Mouffetard | 12300 | 38 | 2 | old | à cinq minutes du Panthéon | 48.8448,2.3488>48.8410,2.3496
69384 | Lyon 4e, Croix-Rousse | de la Croix-Rousse | À la Croix-Rousse | 5000 | 17.5 | 5 | old | à deux pas du marché et du métro Croix-Rousse | 45.7752,4.8240>45.7749,4.8330;45.7760,4.8318>45.7805,4.8310
69382 | Lyon 2e, Ainay | d’Ainay | À Ainay | 5400 | 18 | 3 | old | entre Bellecour et la basilique | 45.7560,4.8290>45.7510,4.8278
69383 | Lyon 3e, Part-Dieu | de la Part-Dieu | À la Part-Dieu | 4500 | 17 | 4 |  | à six minutes à pied de la gare | 45.7600,4.8490>45.7545,4.8520;45.7560,4.8540>45.7540,4.8680
69386 | Lyon 6e, Brotteaux | des Brotteaux | Aux Brotteaux | 5600 | 18 | 3 | old | à cinq minutes du parc de la Tête-d’Or | 45.7695,4.8500>45.7697,4.8600
69387 | Lyon 7e, Jean-Macé | de Jean-Macé | À Jean-Macé | 4400 | 17 | 4 |  | près des quais, du métro et du tramway | 45.7520,4.8425>45.7420,4.8385
69388 | Lyon 8e, Monplaisir | de Monplaisir | À Monplaisir | 4300 | 16.5 | 2 | houses | à deux pas de la place Ambroise-Courtois | 45.7470,4.8620>45.7440,4.8760
69266 | Villeurbanne, Gratte-Ciel | des Gratte-Ciel | Aux Gratte-Ciel | 3700 | 15.5 | 3 |  | à trois minutes du métro | 45.7695,4.8760>45.7675,4.8900
13206 | Marseille 6e, Castellane | de Castellane | À Castellane | 3900 | 16 | 3 | old | à deux minutes du métro | 43.2900,5.3790>43.2845,5.3800
13207 | Marseille 7e, Endoume | d’Endoume | À Endoume | 5200 | 17.5 | 3 | sea | à dix minutes à pied du vallon des Auffes | 43.2905,5.3650>43.2872,5.3575
13208 | Marseille 8e, Périer | de Périer | À Périer | 4900 | 16.5 | 3 |  | à deux pas du Prado et des plages en bus direct | 43.2790,5.3850>43.2740,5.3860
13205 | Marseille 5e, Camas | du Camas | Au Camas | 3300 | 15 | 2 | old | à cinq minutes de la Plaine et du tramway | 43.2960,5.3890>43.2945,5.3980
06088 | Nice, Libération | de la Libération | À la Libération | 4700 | 18 | 3 | old | près du marché et de la gare du Sud | 43.7090,7.2580>43.7150,7.2600
06088 | Nice, Carré d’Or | du Carré d’Or | Dans le Carré d’Or | 7600 | 22 | 2 | old sea | à deux rues de la Promenade des Anglais | 43.6965,7.2600>43.6970,7.2670
33063 | Bordeaux, Chartrons | des Chartrons | Aux Chartrons | 5100 | 17 | 3 | old | entre le jardin public et les quais | 44.8530,-0.5720>44.8480,-0.5735
33063 | Bordeaux, Saint-Augustin | de Saint-Augustin | À Saint-Augustin | 4500 | 15.5 | 2 | houses | à deux pas de la place de l’église | 44.8320,-0.6020>44.8325,-0.6110
31555 | Toulouse, Saint-Cyprien | de Saint-Cyprien | À Saint-Cyprien | 4000 | 15.5 | 3 | old | à trois minutes du métro et de la Garonne | 43.5975,1.4340>43.5960,1.4270
31555 | Toulouse, Minimes | des Minimes | Aux Minimes | 3500 | 14.5 | 2 | houses | entre le canal et le métro | 43.6170,1.4350>43.6230,1.4330
44109 | Nantes, Zola | de Zola | À Zola | 4000 | 15 | 2 | houses | au pied du tramway, près des écoles | 47.2130,-1.5850>47.2110,-1.5930
44109 | Nantes, Bouffay | du Bouffay | Au Bouffay | 4300 | 16.5 | 2 | old | au cœur du centre historique | 47.2150,-1.5545>47.2175,-1.5530
34172 | Montpellier, Écusson | de l’Écusson | Dans l’Écusson | 3900 | 17 | 2 | old | à deux pas de la Comédie | 43.6100,3.8760>43.6125,3.8740
67482 | Strasbourg, Orangerie | de l’Orangerie | À l’Orangerie | 4400 | 15.5 | 2 | old | près du parc et des institutions européennes | 48.5890,7.7680>48.5900,7.7740
59350 | Lille, Vauban | de Vauban | À Vauban | 3700 | 16 | 2 | old | à deux pas des facultés et de la Citadelle | 50.6330,3.0460>50.6290,3.0480
35238 | Rennes, Sainte-Thérèse | de Sainte-Thérèse | À Sainte-Thérèse | 3900 | 14.5 | 2 | houses | à cinq minutes du métro Clemenceau | 48.0955,-1.6690>48.0935,-1.6640
`;

export const QUARTERS: readonly Quarter[] = TABLE.trim().split('\n').map(readQuarter);

function readQuarter(row: string): Quarter {
  const [insee = '', name = '', of = '', where = '', sale, rent, weight, traits = '', near = '', streets = ''] =
    row.split(' | ');
  return {
    insee,
    name,
    of,
    in: where,
    salePrice: Number(sale),
    rent: Number(rent),
    weight: Number(weight),
    hasSea: traits.includes('sea'),
    hasHouses: traits.includes('houses'),
    isOld: traits.includes('old'),
    near,
    streets: streets.split(';').map((street) => street.split('>').map(readPoint) as [Point, Point]),
  };
}

function readPoint(text: string): Point {
  const [lat = Number.NaN, lon = Number.NaN] = text.split(',').map(Number);
  return { lat, lon };
}

/** One of 61 points along one of the quarter's streets, on either side. Five decimals, about a metre. */
export function drawAddress({ streets }: Quarter, random: Random): Point {
  const [from, to] = random.pick(streets);
  const along = random.integer(0, 60) / 60;
  const beside = random.pick([-9e-5, 9e-5]);
  const rounded = (degrees: number): number => Math.round(degrees * 1e5) / 1e5;
  return {
    lat: rounded(from.lat + (to.lat - from.lat) * along + beside),
    lon: rounded(from.lon + (to.lon - from.lon) * along + beside),
  };
}
