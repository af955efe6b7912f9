/** The same for the courier and for its peers. */

export const ATTEMPTS_IN_FLIGHT_MAX = 256;
export const CONNECTIONS_MAX = 12;
