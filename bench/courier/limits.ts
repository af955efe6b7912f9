/** Limits that the courier and its peers share. */

export const ATTEMPTS_IN_FLIGHT_MAX = 256;
export const CONNECTIONS_MAX = 12;
