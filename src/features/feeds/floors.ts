/** Floors as people write them: `RDC`, `2ème`, `3e étage sur 5`, `4/5`. */

const FLOOR =
  /^(?:(?:au )?(?:etage ?:? ?)?)(?:(?<ground>r\.?d\.?c|rdj|rez).*?|(?<floor>-?\d{1,3}) ?(?:ere?|i?eme|e|nde?|[°o])?(?: etage)?)(?: ?(?:sur|\/) ?(?<floors>\d{1,3})(?: etages?)?)?$/;

/** The members of the contract that the text gives; none for `R+2` or `entresol`. */
export function floorsIn(written: string): { readonly floor?: number; readonly floorQuantity?: number } {
  const text = written.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(/\s+/g, ' ').trim().toLowerCase();
  const { ground, floor, floors } = FLOOR.exec(text)?.groups ?? {};
  return {
    ...((ground ?? floor) !== undefined && { floor: Number(floor ?? 0) }),
    ...(floors !== undefined && { floorQuantity: Number(floors) }),
  };
}
