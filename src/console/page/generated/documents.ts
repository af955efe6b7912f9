// Written by src/rest/description/build.ts.

export interface Search {
readonly '@context': "/contexts/Search";
readonly '@id': string;
readonly '@type': "Search";
readonly 'title': string;
readonly 'token': string;
readonly 'user': string;
readonly 'createdAt': string;
readonly 'updatedAt': string;
readonly 'lastAlertAt': string | null;
readonly 'emailStatus': "off" | "active" | "unavailable" | "refused" | "unsubscribed" | "consent-missing";
readonly 'transactionType': "0" | "1" | null;
readonly 'propertyTypes': unknown;
readonly 'budgetMin': number | null;
readonly 'budgetMax': number | null;
readonly 'pricePerMeterMin': number | null;
readonly 'pricePerMeterMax': number | null;
readonly 'surfaceMin': number | null;
readonly 'surfaceMax': number | null;
readonly 'landSurfaceMin': number | null;
readonly 'landSurfaceMax': number | null;
readonly 'roomMin': number | null;
readonly 'roomMax': number | null;
readonly 'bedroomMin': number | null;
readonly 'bedroomMax': number | null;
readonly 'advertPriceMin': number | null;
readonly 'advertPriceMax': number | null;
readonly 'furnished': boolean | null;
readonly 'publisherTypes': unknown;
readonly 'includedSiteCategories': readonly (SiteCategory)[];
readonly 'withVirtualTour': boolean | null;
readonly 'withCoherentPrice': boolean | null;
readonly 'floorMin': number | null;
readonly 'floorMax': number | null;
readonly 'lastFloor': boolean | null;
readonly 'elevator': boolean | null;
readonly 'constructionYearMin': number | null;
readonly 'constructionYearMax': number | null;
readonly 'condominiumFeesMax': number | null;
readonly 'rentalChargesMax': number | null;
readonly 'energyCategories': unknown;
readonly 'greenHouseGasCategories': unknown;
readonly 'includedFeatures': readonly ("balcony" | "terrace" | "garden" | "cellar" | "parking" | "garage" | "pool" | "fireplace" | "airConditioning" | "accessible" | "furnishedKitchen" | "newBuild" | "renovated" | "toRenovate" | "quiet" | "unobstructedView" | "caretaker" | "intercom" | "alarm")[];
readonly 'excludedFeatures': readonly ("balcony" | "terrace" | "garden" | "cellar" | "parking" | "garage" | "pool" | "fireplace" | "airConditioning" | "accessible" | "furnishedKitchen" | "newBuild" | "renovated" | "toRenovate" | "quiet" | "unobstructedView" | "caretaker" | "intercom" | "alarm")[];
readonly 'lat': string | null;
readonly 'lon': string | null;
readonly 'radius': string | null;
readonly 'includedCities': readonly (CityReference)[];
readonly 'includedDepartments': readonly (Department)[];
readonly 'includedZipcodes': readonly (string)[];
readonly 'includedInseeCodes': readonly (string)[];
readonly 'geoShapes': readonly (readonly (readonly (readonly [number, number])[])[])[];
readonly 'excludedCities': readonly (CityReference)[];
readonly 'expressions': string | null;
readonly 'excludedSiteCategories': readonly (SiteCategory)[];
readonly 'orMissing': readonly ("transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "areas" | "excludedCities" | "expressions" | "liveAdvert")[];
readonly 'hidePropertyContact': boolean;
readonly 'notificationEnabled': boolean;
readonly 'notificationRecipient': string | null;
readonly 'notificationConsent': {
readonly 'source': string;
readonly 'at': string;
} | null;
readonly 'notificationReplyTo': string | null;
readonly 'notificationFrequency': "instant" | "daily" | "weekly";
readonly 'endpointRecipient': string | null;
readonly 'eventEndpoint': string | null;
readonly 'subscribedEvents': readonly ("ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update" | "property.match.end" | "property.match.resume")[];
readonly 'eventThresholds': {
readonly 'price'?: {
readonly 'percent'?: number;
readonly 'amount'?: number;
readonly 'direction'?: "down" | "up";
readonly 'since'?: "last" | "told";
};
readonly 'surface'?: {
readonly 'percent'?: number;
readonly 'amount'?: number;
readonly 'direction'?: "down" | "up";
readonly 'since'?: "last" | "told";
};
} | null;
readonly 'context': unknown;
}

export interface Match {
readonly '@context': "/contexts/Match";
readonly '@id': string;
readonly '@type': "Match";
readonly 'property': string;
readonly 'search': string;
readonly 'createdAt': string;
readonly 'updatedAt': string;
readonly 'propertyDocument': PropertyDocument | null;
}

export interface PropertyDocument {
readonly '@context': "/contexts/PropertyDocument";
readonly '@id': string;
readonly '@type': "PropertyDocument";
readonly 'uuid': string;
readonly 'property': string;
readonly 'adverts': readonly (Advert)[];
readonly 'title': string | null;
readonly 'description': string | null;
readonly 'transactionType': number | null;
readonly 'propertyType': number | null;
readonly 'publisherTypes': readonly (number)[];
readonly 'price': number | null;
readonly 'pricePerMeter': number | null;
readonly 'surface': number | null;
readonly 'landSurface': number | null;
readonly 'room': number | null;
readonly 'bedroom': number | null;
readonly 'floor': number | null;
readonly 'elevator': boolean | null;
readonly 'furnished': boolean | null;
readonly 'expired': boolean;
readonly 'expiredAt': string | null;
readonly 'createdAt': string | null;
readonly 'updatedAt': string | null;
readonly 'lastCrawledAt': string | null;
readonly 'lastCrawledAdvert': string | null;
readonly 'locations': Coordinates | null;
readonly 'pictures': readonly (string)[];
readonly 'city': PropertyCity | null;
readonly 'stations': readonly (Station)[];
}

export interface Delivery {
readonly '@context': "/contexts/Delivery";
readonly '@id': string;
readonly '@type': "Delivery";
readonly 'search': string;
readonly 'match': string;
readonly 'channel': "match" | "event" | "email";
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update" | "property.match.end" | "property.match.resume";
readonly 'endpoint': string;
readonly 'endpointHealth': EndpointHealth | null;
readonly 'status': "queued" | "sending" | "retry_wait" | "delivered" | "failed" | "cancelled";
readonly 'exhausted': boolean;
readonly 'attemptCount': number;
readonly 'dueAt': string | null;
readonly 'createdAt': string;
readonly 'finishedAt': string | null;
readonly 'deliveredAt': string | null;
readonly 'attempts': readonly (Attempt)[];
readonly 'body'?: unknown;
readonly 'headers'?: {

} | null;
readonly 'withheld'?: boolean;
}

export interface City {
readonly 'id': number;
readonly 'cityParentId': number | null;
readonly 'insee': string;
readonly 'name': string;
readonly 'originalName': string;
readonly 'zipcode': string;
readonly 'country': CodedPlace;
readonly 'department': CodedPlace;
readonly 'region': CodedPlace;
readonly 'groupedCityNames': readonly (string)[];
readonly 'groupedCityZipcodes': readonly (string)[];
readonly 'hasGroupedByName': boolean;
readonly 'hasGroupedByZipcode': boolean;
readonly 'open': boolean;
readonly 'location': Coordinates | null;
readonly '@context': "/contexts/City";
readonly '@id': string;
readonly '@type': "City";
readonly 'article': string;
readonly 'libelle': string;
readonly 'matchedName': string | null;
}

export interface Department {
readonly '@context': "/contexts/Department";
readonly '@id': string;
readonly '@type': "Department";
readonly 'chefLieu': string;
readonly 'departmentCode': string;
readonly 'name': string;
readonly 'nameClean': string;
}

export interface SiteCategory {
readonly '@context': "/contexts/SiteCategory";
readonly '@id': string;
readonly '@type': "SiteCategory";
readonly 'name': string;
}

export interface Feature {
readonly '@context': "/contexts/Feature";
readonly '@id': string;
readonly '@type': "Feature";
readonly 'name': "balcony" | "terrace" | "garden" | "cellar" | "parking" | "garage" | "pool" | "fireplace" | "airConditioning" | "accessible" | "furnishedKitchen" | "newBuild" | "renovated" | "toRenovate" | "quiet" | "unobstructedView" | "caretaker" | "intercom" | "alarm";
readonly 'label': {
readonly 'fr': string;
readonly 'en': string;
};
readonly 'words': {
readonly 'fr': readonly (string)[];
readonly 'en': readonly (string)[];
};
}

export interface Location {
readonly '@context': "/contexts/Location";
readonly '@id': string;
readonly '@type': "Location";
readonly 'type': "city" | "department" | "zipcode";
readonly 'label': string;
readonly 'name': string;
readonly 'code': string;
readonly 'zipcode': string | null;
readonly 'population': number;
readonly 'matchedName': string | null;
readonly 'cities': readonly (string)[];
readonly 'criterion': "includedCities" | "includedDepartments" | "includedZipcodes";
readonly 'value': string;
}

export interface PointOfInterest {
readonly 'lat': number;
readonly 'lon': number;
readonly 'name': string | null;
readonly 'type': string;
readonly 'attributes': unknown;
}

export interface WebhookTest {
readonly '@context': "/contexts/WebhookTest";
readonly '@id': string;
readonly '@type': "WebhookTest";
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update" | "property.match.end" | "property.match.resume";
readonly 'adEvent'?: AdEvent;
readonly 'match': Match;
readonly 'delivery': {
readonly 'delivered': boolean;
readonly 'statusCode': number | null;
readonly 'durationMs': number;
readonly 'error': string | null;
readonly 'responseBody': string | null;
readonly 'token': string | null;
};
}

export interface User {
readonly '@context': "/contexts/User";
readonly '@id': string;
readonly '@type': "User";
readonly 'name': string;
}

export interface Recipient {
readonly '@context': "/contexts/Recipient";
readonly '@id': string;
readonly '@type': "Recipient";
readonly 'address': string;
readonly 'unsubscribedAt': string | null;
readonly 'resubscribedAt': string | null;
readonly 'erasedAt': string | null;
readonly 'liftedAt': string | null;
readonly 'receivesNotices': boolean;
readonly 'searches': readonly (RecipientSearch)[];
readonly 'emails': readonly (RecipientEmail)[];
readonly 'emailCount': number;
}

export interface Recovery {
readonly '@context': "/contexts/Recovery";
readonly '@id': string;
readonly '@type': "Recovery";
readonly 'since': string;
readonly 'until': string;
readonly 'search': string | null;
readonly 'endpoint': string | null;
readonly 'includeDelivered': boolean;
readonly 'state': "counting" | "running" | "finished" | "stopped" | "paused";
readonly 'matched': number;
readonly 'sent': number;
readonly 'delivered': number;
readonly 'failed': number;
readonly 'remaining': number;
readonly 'createdAt': string;
readonly 'finishedAt': string | null;
}

export interface Explanation {
readonly '@context': "/contexts/Explanation";
readonly '@id': string;
readonly '@type': "Explanation";
readonly 'search': string;
readonly 'property': string;
readonly 'satisfied': boolean;
readonly 'criteria': readonly (ExplainedCriterion)[];
readonly 'match': string | null;
readonly 'matchReason': string;
readonly 'matchReasons': readonly ({
readonly 'code': string;
readonly 'at': string | null;
readonly 'reason': string;
})[];
readonly 'deliveries': readonly (string)[];
}

export interface Preview {
readonly '@context': "/contexts/Preview";
readonly '@id': string;
readonly '@type': "Preview";
readonly 'satisfiedNow': number;
readonly 'margin': number;
readonly 'estimated': boolean;
readonly 'startedPerDay': readonly (PreviewedDay)[];
readonly 'perDay': number;
readonly 'knownSince': string | null;
readonly 'sample': readonly (PreviewedProperty)[];
readonly 'places': readonly (readonly [number, number])[];
readonly 'withoutCriterion': readonly (WiderSearch)[];
}

export interface FoundProperty {
readonly '@context': "/contexts/FoundProperty";
readonly '@id': string;
readonly '@type': "FoundProperty";
readonly 'uuid': string;
readonly 'property': string;
readonly 'adverts': readonly (Advert)[];
readonly 'title': string | null;
readonly 'description': string | null;
readonly 'transactionType': number | null;
readonly 'propertyType': number | null;
readonly 'publisherTypes': readonly (number)[];
readonly 'price': number | null;
readonly 'pricePerMeter': number | null;
readonly 'surface': number | null;
readonly 'landSurface': number | null;
readonly 'room': number | null;
readonly 'bedroom': number | null;
readonly 'floor': number | null;
readonly 'elevator': boolean | null;
readonly 'furnished': boolean | null;
readonly 'expired': boolean;
readonly 'expiredAt': string | null;
readonly 'createdAt': string | null;
readonly 'updatedAt': string | null;
readonly 'lastCrawledAt': string | null;
readonly 'lastCrawledAdvert': string | null;
readonly 'locations': Coordinates | null;
readonly 'pictures': readonly (string)[];
readonly 'city': PropertyCity | null;
readonly 'stations': readonly (Station)[];
readonly 'match': string | null;
readonly 'satisfiedSince': string;
}

export interface Feed {
readonly '@context': "/contexts/Feed";
readonly '@id': string;
readonly '@type': "Feed";
readonly 'items': readonly (FeedItem)[];
readonly 'next': string;
}

export interface WebhookSecret {
readonly '@context': "/contexts/WebhookSecret";
readonly '@id': string;
readonly '@type': "WebhookSecret";
readonly 'id': string;
readonly 'createdAt': string;
readonly 'expiresAt': string | null;
readonly 'hint': string;
readonly 'secret'?: string;
}

export interface Endpoint {
readonly '@context': "/contexts/Endpoint";
readonly '@id': string;
readonly '@type': "Endpoint";
readonly 'url': string;
readonly 'channels': readonly ("match" | "event")[];
readonly 'state': "healthy" | "failing" | "paused";
readonly 'pausedBy': "operator" | "client" | "failures" | null;
readonly 'since': string | null;
readonly 'failingSince': string | null;
readonly 'lastError': string | null;
readonly 'waiting': number;
readonly 'searches': number;
}

export interface CityReference {
readonly '@context': "/contexts/City";
readonly '@id': string;
readonly '@type': "City";
readonly 'article': string;
readonly 'insee': string;
readonly 'libelle': string;
readonly 'name': string;
readonly 'zipcode': string;
}

export interface Advert {
readonly 'uuid': string;
readonly 'title': string | null;
readonly 'description': string | null;
readonly 'url': string | null;
readonly 'virtualTour': string | null;
readonly 'contact'?: Contact | null;
readonly 'publisher': Publisher | null;
readonly 'createdAt': string;
readonly 'updatedAt': string;
readonly 'lastCrawledAt': string;
readonly 'events': readonly (AdvertEvent)[];
readonly 'features': readonly (string)[];
readonly 'energy': EnergyRating | null;
readonly 'greenHouseGas': EnergyRating | null;
readonly 'constructionYear': number | null;
readonly 'floorQuantity': number | null;
readonly 'floor': number | null;
readonly 'lotCount': number | null;
readonly 'price': number | null;
readonly 'priceExcludingFees': number | null;
readonly 'renterFees': number | null;
readonly 'rentalPledge': number | null;
readonly 'inventoryPrice': number | null;
readonly 'rentalCharges': number | null;
readonly 'feesPercentage': number | null;
readonly 'condominiumFees': number | null;
readonly 'feesResponsibility': number | null;
readonly 'surface': number | null;
readonly 'landSurface': number | null;
readonly 'elevator': boolean | null;
readonly 'furnished': boolean | null;
readonly 'pictures': readonly (string)[];
readonly 'picturesRemote': readonly (string)[];
}

export interface AdvertEvent {
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update";
readonly 'createdAt': string;
readonly 'fieldName': string | null;
readonly 'fieldOldValue': string | null;
readonly 'fieldNewValue': string | null;
readonly 'percentVariation': number | null;
}

export interface AdEvent {
readonly 'fieldName': string;
readonly 'fieldOldValue': string | null;
readonly 'fieldNewValue': string | null;
readonly 'percentVariation': string | null;
readonly 'createdAt': string;
readonly 'daysAway'?: number;
}

export interface Contact {
readonly 'agency': string | null;
readonly 'email': string | null;
readonly 'fax': string | null;
readonly 'name': string | null;
readonly 'phone': string | null;
readonly 'reference': string | null;
}

export interface Publisher {
readonly 'category': string | null;
readonly 'name': string | null;
readonly 'type': number | null;
}

export interface EnergyRating {
readonly 'category': string | null;
readonly 'value': number | null;
}

export interface PropertyCity {
readonly 'id': number;
readonly 'cityParentId': number | null;
readonly 'insee': string;
readonly 'name': string;
readonly 'originalName': string;
readonly 'zipcode': string | null;
readonly 'country': CodedPlace;
readonly 'department': CodedPlace;
readonly 'region': CodedPlace;
readonly 'groupedCityNames': readonly (string)[];
readonly 'groupedCityZipcodes': readonly (string)[];
readonly 'hasGroupedByName': boolean;
readonly 'hasGroupedByZipcode': boolean;
readonly 'open': boolean;
readonly 'location': Coordinates | null;
}

export interface CodedPlace {
readonly 'code': string;
readonly 'id': number;
readonly 'name': string;
}

export interface Coordinates {
readonly 'lat': number;
readonly 'lon': number;
}

export interface Station {
readonly 'id': number | null;
readonly 'name': string | null;
readonly 'lines': readonly (Line)[];
}

export interface Line {
readonly 'id': number | null;
readonly 'name': string | null;
readonly 'number': string | null;
readonly 'color': string | null;
readonly 'routeName': string | null;
}

export interface Attempt {
readonly 'number': number;
readonly 'startedAt': string;
readonly 'durationMs': number | null;
readonly 'statusCode': number | null;
readonly 'error': "dns" | "connect" | "tls" | "timeout" | "reset" | "blocked" | "status" | "protocol" | "aborted" | null;
readonly 'reason': string | null;
readonly 'responseHead': string | null;
}

export interface EndpointHealth {
readonly 'state': "healthy" | "failing" | "paused";
readonly 'failureStreak': number;
readonly 'backlog': number;
readonly 'oldestDueAt': string | null;
readonly 'lastSuccessAt': string | null;
readonly 'lastFailureAt': string | null;
readonly 'lastError': string | null;
}

export interface RecipientSearch {
readonly 'search': string;
readonly 'title': string;
readonly 'mentionsOnly': boolean;
readonly 'mayContain': boolean;
readonly 'notificationConsent': {
readonly 'source': string;
readonly 'at': string;
} | null;
readonly 'refusedAt': string | null;
readonly 'deletedAt': string | null;
}

export interface RecipientEmail {
readonly 'status': string;
readonly 'items': number;
readonly 'createdAt': string;
readonly 'finishedAt': string | null;
readonly 'attempts': readonly (RecipientAttempt)[];
}

export interface RecipientAttempt {
readonly 'startedAt': string;
readonly 'statusCode': number | null;
readonly 'error': string | null;
readonly 'reason': string | null;
}

export interface ExplainedCriterion {
readonly 'criterion': "liveAdvert" | "transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "areas" | "excludedCities" | "expressions";
readonly 'expected': unknown;
readonly 'actual': unknown;
readonly 'holds': boolean;
readonly 'reason': string;
}

export interface PreviewedDay {
readonly 'date': string;
readonly 'count': number;
}

export interface PreviewedProperty {
readonly 'property': string;
readonly 'satisfiedSince': string;
}

export interface WiderSearch {
readonly 'criterion': "liveAdvert" | "transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "areas" | "excludedCities" | "expressions";
readonly 'satisfiedNow': number;
readonly 'margin': number;
readonly 'estimated': boolean;
}

export interface FeedItem {
readonly 'cursor': string;
readonly 'id': string;
readonly 'sequence': number | null;
readonly 'search': string;
readonly 'context': unknown;
readonly 'channel': "match" | "event";
readonly 'createdAt': string;
readonly 'body': unknown;
readonly 'withheld'?: boolean;
}

export const EVENT_KINDS = ["ad.update.price","ad.update.surface","ad.update.pictures","ad.update.expired","ad.update.reactivated","property.ad.create","property.ad.update","property.match.end","property.match.resume"] as const;

export const RANGE_CRITERIA = ["budget","pricePerMeter","surface","landSurface","room","bedroom","advertPrice","floor","constructionYear","condominiumFees","rentalCharges"] as const;

export const RANGE_MEMBERS = ["budgetMin","budgetMax","pricePerMeterMin","pricePerMeterMax","surfaceMin","surfaceMax","landSurfaceMin","landSurfaceMax","roomMin","roomMax","bedroomMin","bedroomMax","advertPriceMin","advertPriceMax","floorMin","floorMax","constructionYearMin","constructionYearMax","condominiumFeesMax","rentalChargesMax"] as const;

export const LETTER_MEMBERS = ["energyCategories","greenHouseGasCategories"] as const;

export const ENERGY_CATEGORIES = ["A","B","C","D","E","F","G"] as const;

export const FLAG_CRITERIA = ["furnished","elevator"] as const;

export const REQUIREMENTS = ["withVirtualTour","withCoherentPrice","lastFloor"] as const;

export const CRITERION_MEMBERS = {"transactionType":["transactionType"],"propertyTypes":["propertyTypes"],"budget":["budgetMin","budgetMax"],"pricePerMeter":["pricePerMeterMin","pricePerMeterMax"],"surface":["surfaceMin","surfaceMax"],"landSurface":["landSurfaceMin","landSurfaceMax"],"room":["roomMin","roomMax"],"bedroom":["bedroomMin","bedroomMax"],"advertPrice":["advertPriceMin","advertPriceMax"],"furnished":["furnished"],"publisherTypes":["publisherTypes"],"includedSiteCategories":["includedSiteCategories"],"withVirtualTour":["withVirtualTour"],"withCoherentPrice":["withCoherentPrice"],"floor":["floorMin","floorMax"],"lastFloor":["lastFloor"],"elevator":["elevator"],"constructionYear":["constructionYearMin","constructionYearMax"],"condominiumFees":["condominiumFeesMax"],"rentalCharges":["rentalChargesMax"],"energy":["energyCategories"],"greenHouseGas":["greenHouseGasCategories"],"includedFeatures":["includedFeatures"],"excludedFeatures":["excludedFeatures"],"areas":["lat","lon","radius","includedCities","includedDepartments","includedZipcodes","includedInseeCodes","geoShapes"],"excludedCities":["excludedCities"],"expressions":["expressions"],"liveAdvert":["excludedSiteCategories"]} as const;

const fr = {"elevator":"Ascenseur","furnished":"Meublé"};

export const FLAG_LABELS: Readonly<Record<'fr' | 'en', typeof fr>> = { fr, en: {"elevator":"Elevator","furnished":"Furnished"} };

const features = {"balcony":"Balcon","terrace":"Terrasse","garden":"Jardin","cellar":"Cave","parking":"Parking","garage":"Garage","pool":"Piscine","fireplace":"Cheminée","airConditioning":"Climatisation","accessible":"Accessible aux personnes à mobilité réduite","furnishedKitchen":"Cuisine équipée","newBuild":"Neuf","renovated":"Rénové","toRenovate":"À rénover","quiet":"Calme","unobstructedView":"Vue dégagée","caretaker":"Gardien","intercom":"Interphone","alarm":"Alarme"};

export const FEATURE_LABELS: Readonly<Record<'fr' | 'en', typeof features>> = { fr: features, en: {"balcony":"Balcony","terrace":"Terrace","garden":"Garden","cellar":"Cellar","parking":"Parking","garage":"Garage","pool":"Pool","fireplace":"Fireplace","airConditioning":"Air conditioning","accessible":"Accessible","furnishedKitchen":"Fitted kitchen","newBuild":"New build","renovated":"Renovated","toRenovate":"To renovate","quiet":"Quiet","unobstructedView":"Unobstructed view","caretaker":"Caretaker","intercom":"Intercom","alarm":"Alarm"} };
