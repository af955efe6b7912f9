/** What the page reads of the REST interface's documents; `/openapi.json` has all of it. */

export interface Collection<Member> {
  readonly 'hydra:member': readonly Member[];
  readonly 'hydra:totalItems': number;
  readonly 'hydra:view'?: { readonly 'hydra:next'?: string };
}

export interface CityReference {
  readonly '@id': string;
  readonly insee: string;
  readonly name: string;
  readonly zipcode: string | null;
}

export interface DepartmentReference {
  readonly '@id': string;
  readonly departmentCode: string;
  readonly name: string;
}

export interface SiteCategory {
  readonly '@id': string;
  readonly name: string;
}

/** A ring is `[longitude, latitude]` by corner, closed. */
export type Ring = readonly (readonly [number, number])[];

export interface SearchDocument {
  readonly '@id': string;
  readonly title: string;
  readonly token: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lastAlertAt: string | null;
  readonly emailStatus: string;
  readonly transactionType: string | null;
  readonly propertyTypes: number | readonly number[] | null;
  readonly lat: string | null;
  readonly lon: string | null;
  readonly radius: string | null;
  readonly includedCities: readonly CityReference[];
  readonly excludedCities: readonly CityReference[];
  readonly includedDepartments: readonly DepartmentReference[];
  readonly includedZipcodes: readonly string[];
  readonly includedInseeCodes: readonly string[];
  readonly geoShapes: readonly (readonly Ring[])[];
  readonly expressions: string | null;
  readonly notificationEnabled: boolean;
  readonly endpointRecipient: string | null;
  readonly eventEndpoint: string | null;
  readonly [member: string]: unknown;
}

export interface Place {
  readonly lat: number;
  readonly lon: number;
}

export interface AdvertEvent {
  readonly createdAt: string;
  readonly fieldName: string | null;
  readonly fieldOldValue: string | null;
  readonly fieldNewValue: string | null;
  readonly percentVariation: number | null;
}

export interface Contact {
  readonly agency?: string | null;
  readonly name?: string | null;
  readonly phone?: string | null;
  readonly email?: string | null;
}

export interface AdvertDocument {
  readonly uuid: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly url: string | null;
  readonly virtualTour: string | null;
  readonly price: number | null;
  readonly surface: number | null;
  readonly publisher: {
    readonly name: string | null;
    readonly category: string | null;
    readonly type: number | null;
  } | null;
  readonly contact?: Contact | null;
  readonly createdAt: string | null;
  readonly lastCrawledAt: string | null;
  readonly expired?: boolean;
  readonly events: readonly AdvertEvent[];
  readonly energy: { readonly category: string | null } | null;
  readonly greenHouseGas: { readonly category: string | null } | null;
  readonly pictures: readonly string[];
}

export interface PropertyDocument {
  readonly '@id': string;
  readonly uuid: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly price: number | null;
  readonly pricePerMeter: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly bedroom: number | null;
  readonly floor: number | null;
  readonly expired: boolean;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly lastCrawledAt: string | null;
  readonly locations: Place | null;
  readonly pictures: readonly string[];
  readonly city: { readonly name: string; readonly zipcode: string | null; readonly location: Place | null } | null;
  readonly adverts: readonly AdvertDocument[];
}

export interface MatchDocument {
  readonly '@id': string;
  readonly property: string;
  readonly search: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Null: forgotten meanwhile. */
  readonly propertyDocument: PropertyDocument | null;
}

export interface FeedItem {
  readonly id: string;
  readonly search: string;
  readonly channel: string;
  readonly createdAt: string;
  readonly body: {
    readonly event: string;
    readonly adEvent?: {
      readonly fieldOldValue: string | null;
      readonly fieldNewValue: string | null;
      /** Two decimals. */
      readonly percentVariation: string | null;
    };
    readonly match: MatchDocument;
  } | null;
}

export interface FeedPage {
  readonly items: readonly FeedItem[];
  readonly next: string;
}

export interface EndpointHealth {
  readonly state: string;
  readonly failureStreak: number;
  readonly backlog: number;
  readonly lastSuccessAt: string | null;
  readonly lastFailureAt: string | null;
  readonly lastError: string | null;
}

export interface AttemptDocument {
  readonly startedAt: string;
  readonly durationMs: number | null;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly responseHead: string | null;
}

export interface DeliveryDocument {
  readonly '@id': string;
  readonly search: string;
  readonly match: string;
  readonly channel: string;
  readonly event: string;
  readonly endpoint: string;
  readonly endpointHealth: EndpointHealth | null;
  readonly status: string;
  readonly attemptCount: number;
  readonly dueAt: string | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly attempts: readonly AttemptDocument[];
}

export interface RecoveryDocument {
  readonly '@id': string;
  readonly since: string;
  readonly state: string;
  readonly stateReason: string | null;
  readonly matched: number;
  readonly sent: number;
  readonly delivered: number;
  readonly failed: number;
  readonly remaining: number;
}

export interface CriterionJudgement {
  readonly criterion: string;
  readonly holds: boolean;
  readonly reason: string;
}

export interface ExplanationDocument {
  readonly '@id': string;
  readonly search: string;
  readonly property: string;
  readonly satisfied: boolean;
  readonly criteria: readonly CriterionJudgement[];
  readonly match: string | null;
  readonly matchReason: string;
  readonly deliveries: readonly string[];
}

export interface PreviewDocument {
  readonly satisfiedNow: number;
  readonly margin: number;
  readonly estimated: boolean;
  readonly startedPerDay: readonly { readonly date: string; readonly count: number }[];
  readonly sample: readonly { readonly property: string; readonly satisfiedSince: string }[];
  readonly withoutCriterion: readonly {
    readonly criterion: string;
    readonly satisfiedNow: number;
    readonly estimated: boolean;
  }[];
}

export interface LocationDocument {
  readonly '@id': string;
  readonly type: 'city' | 'department' | 'zipcode';
  readonly label: string;
  readonly name: string;
  readonly code: string;
  readonly criterion: 'includedCities' | 'includedDepartments' | 'includedZipcodes';
  readonly value: string;
  readonly cities: readonly string[];
}

export interface PointDocument {
  readonly lat: number;
  readonly lon: number;
  readonly name: string | null;
  readonly type: string;
  readonly attributes: Readonly<Record<string, string>> | readonly [];
}

export interface SecretDocument {
  readonly '@id': string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly hint: string;
  /** Once, when it is made. */
  readonly secret?: string;
}

export interface WebhookTestDocument {
  readonly delivery: {
    readonly delivered: boolean;
    readonly statusCode: number | null;
    readonly durationMs: number;
    readonly error: string | null;
    readonly responseBody: string | null;
    readonly token: string | null;
  };
  readonly [member: string]: unknown;
}

/** The last step of an IRI: `/searches/0b8f…` → `0b8f…`. */
export function idOf(iri: string): string {
  return iri.slice(iri.lastIndexOf('/') + 1);
}
