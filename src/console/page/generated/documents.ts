// Written by src/rest/description/build.ts.

export interface SearchDocument {
readonly '@context': "/contexts/Search";
readonly '@id': string;
readonly '@type': "Search";
readonly 'title': string;
readonly 'publicTitle': string | null;
readonly 'token': string;
readonly 'user': string;
readonly 'createdAt': string;
readonly 'updatedAt': string;
readonly 'lastAlertAt': string | null;
readonly 'seenAt': string | null;
readonly 'newSinceSeen': number;
readonly 'matchedLast7Days': number;
readonly 'emailStatus': "off" | "active" | "unavailable" | "refused" | "unsubscribed" | "consent-missing";
readonly 'emailFrequencyChosen': "instant" | "daily" | "weekly" | null;
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
readonly 'includedSiteCategories': readonly (SiteCategoryDocument)[];
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
readonly 'includedPublishers': readonly (string)[];
readonly 'marketDifferenceMin': number | null;
readonly 'marketDifferenceMax': number | null;
readonly 'pointsOfInterest': readonly ({
readonly 'facility': "kindergarten" | "school" | "restaurant" | "hospital" | "parking";
readonly 'attributes'?: {
readonly 'schoolType'?: "maternelle" | "élémentaire" | "primaire" | "collège" | "lycée" | "secondaire";
readonly 'operatorType'?: "public" | "private";
};
readonly 'within'?: number;
readonly 'beyond'?: number;
})[];
readonly 'lat': string | null;
readonly 'lon': string | null;
readonly 'radius': string | null;
readonly 'includedCities': readonly (CityReferenceDocument)[];
readonly 'includedDepartments': readonly (DepartmentDocument)[];
readonly 'includedZipcodes': readonly (string)[];
readonly 'includedInseeCodes': readonly (string)[];
readonly 'geoShapes': readonly (readonly (readonly (readonly [number, number])[])[])[];
readonly 'excludedCities': readonly (CityReferenceDocument)[];
readonly 'excludedDepartments': readonly (DepartmentDocument)[];
readonly 'excludedZipcodes': readonly (string)[];
readonly 'excludedInseeCodes': readonly (string)[];
readonly 'excludedGeoShapes': readonly (readonly (readonly (readonly [number, number])[])[])[];
readonly 'expressions': string | null;
readonly 'alternatives': readonly ({
readonly 'transactionType'?: "0" | "1" | null;
readonly 'propertyTypes'?: unknown;
readonly 'budgetMin'?: number | null;
readonly 'budgetMax'?: number | null;
readonly 'pricePerMeterMin'?: number | null;
readonly 'pricePerMeterMax'?: number | null;
readonly 'surfaceMin'?: number | null;
readonly 'surfaceMax'?: number | null;
readonly 'landSurfaceMin'?: number | null;
readonly 'landSurfaceMax'?: number | null;
readonly 'roomMin'?: number | null;
readonly 'roomMax'?: number | null;
readonly 'bedroomMin'?: number | null;
readonly 'bedroomMax'?: number | null;
readonly 'advertPriceMin'?: number | null;
readonly 'advertPriceMax'?: number | null;
readonly 'furnished'?: boolean | null;
readonly 'publisherTypes'?: unknown;
readonly 'includedSiteCategories'?: readonly (SiteCategoryDocument)[];
readonly 'withVirtualTour'?: boolean | null;
readonly 'floorMin'?: number | null;
readonly 'floorMax'?: number | null;
readonly 'lastFloor'?: boolean | null;
readonly 'elevator'?: boolean | null;
readonly 'constructionYearMin'?: number | null;
readonly 'constructionYearMax'?: number | null;
readonly 'condominiumFeesMax'?: number | null;
readonly 'rentalChargesMax'?: number | null;
readonly 'energyCategories'?: unknown;
readonly 'greenHouseGasCategories'?: unknown;
readonly 'includedFeatures'?: readonly ("balcony" | "terrace" | "garden" | "cellar" | "parking" | "garage" | "pool" | "fireplace" | "airConditioning" | "accessible" | "furnishedKitchen" | "newBuild" | "renovated" | "toRenovate" | "quiet" | "unobstructedView" | "caretaker" | "intercom" | "alarm")[];
readonly 'excludedFeatures'?: readonly ("balcony" | "terrace" | "garden" | "cellar" | "parking" | "garage" | "pool" | "fireplace" | "airConditioning" | "accessible" | "furnishedKitchen" | "newBuild" | "renovated" | "toRenovate" | "quiet" | "unobstructedView" | "caretaker" | "intercom" | "alarm")[];
readonly 'includedPublishers'?: readonly (string)[];
readonly 'marketDifferenceMin'?: number | null;
readonly 'marketDifferenceMax'?: number | null;
readonly 'pointsOfInterest'?: readonly ({
readonly 'facility': "kindergarten" | "school" | "restaurant" | "hospital" | "parking";
readonly 'attributes'?: {
readonly 'schoolType'?: "maternelle" | "élémentaire" | "primaire" | "collège" | "lycée" | "secondaire";
readonly 'operatorType'?: "public" | "private";
};
readonly 'within'?: number;
readonly 'beyond'?: number;
})[];
readonly 'lat'?: string | null;
readonly 'lon'?: string | null;
readonly 'radius'?: string | null;
readonly 'includedCities'?: readonly (CityReferenceDocument)[];
readonly 'includedDepartments'?: readonly (DepartmentDocument)[];
readonly 'includedZipcodes'?: readonly (string)[];
readonly 'includedInseeCodes'?: readonly (string)[];
readonly 'geoShapes'?: readonly (readonly (readonly (readonly [number, number])[])[])[];
readonly 'expressions'?: string | null;
readonly 'orMissing'?: readonly ("transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "includedPublishers" | "marketDifference" | "pointsOfInterest" | "areas" | "excludedAreas" | "expressions" | "alternatives" | "liveAdvert")[];
})[];
readonly 'excludedSiteCategories': readonly (SiteCategoryDocument)[];
readonly 'excludedPublishers': readonly (string)[];
readonly 'orMissing': readonly ("transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "includedPublishers" | "marketDifference" | "pointsOfInterest" | "areas" | "excludedAreas" | "expressions" | "alternatives" | "liveAdvert")[];
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

export interface MatchDocument {
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
readonly 'adverts': readonly (AdvertDocument)[];
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
readonly 'locations': CoordinatesDocument | null;
readonly 'pictures': readonly (string)[];
readonly 'city': PropertyCityDocument | null;
readonly 'stations': readonly (StationDocument)[];
}

export interface DeliveryDocument {
readonly '@context': "/contexts/Delivery";
readonly '@id': string;
readonly '@type': "Delivery";
readonly 'search': string;
readonly 'match': string;
readonly 'channel': "match" | "event" | "email";
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update" | "property.match.end" | "property.match.resume";
readonly 'endpoint': string;
readonly 'endpointHealth': EndpointHealthDocument | null;
readonly 'status': "queued" | "sending" | "retry_wait" | "delivered" | "failed" | "cancelled";
readonly 'exhausted': boolean;
readonly 'attemptCount': number;
readonly 'dueAt': string | null;
readonly 'createdAt': string;
readonly 'finishedAt': string | null;
readonly 'deliveredAt': string | null;
readonly 'attempts': readonly (AttemptDocument)[];
readonly 'body'?: unknown;
readonly 'headers'?: {

} | null;
readonly 'withheld'?: boolean;
}

export interface CityDocument {
readonly 'id': number;
readonly 'cityParentId': number | null;
readonly 'insee': string;
readonly 'name': string;
readonly 'originalName': string;
readonly 'zipcode': string;
readonly 'country': CodedPlaceDocument;
readonly 'department': CodedPlaceDocument;
readonly 'region': CodedPlaceDocument;
readonly 'groupedCityNames': readonly (string)[];
readonly 'groupedCityZipcodes': readonly (string)[];
readonly 'hasGroupedByName': boolean;
readonly 'hasGroupedByZipcode': boolean;
readonly 'open': boolean;
readonly 'location': CoordinatesDocument | null;
readonly '@context': "/contexts/City";
readonly '@id': string;
readonly '@type': "City";
readonly 'article': string;
readonly 'libelle': string;
readonly 'matchedName': string | null;
}

export interface DepartmentDocument {
readonly '@context': "/contexts/Department";
readonly '@id': string;
readonly '@type': "Department";
readonly 'chefLieu': string;
readonly 'departmentCode': string;
readonly 'name': string;
readonly 'nameClean': string;
}

export interface SiteCategoryDocument {
readonly '@context': "/contexts/SiteCategory";
readonly '@id': string;
readonly '@type': "SiteCategory";
readonly 'name': string;
}

export interface FeatureDocument {
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

export interface LocationDocument {
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

export interface PublisherNameDocument {
readonly '@context': "/contexts/PublisherName";
readonly '@id': string;
readonly '@type': "PublisherName";
readonly 'name': string;
}

export interface PointOfInterestDocument {
readonly 'lat': number;
readonly 'lon': number;
readonly 'name': string | null;
readonly 'type': string;
readonly 'attributes': unknown;
}

export interface MarketDocument {
readonly '@context': "/contexts/Market";
readonly '@id': string;
readonly '@type': "Market";
readonly 'median': number;
readonly 'count': number;
readonly 'name': string;
readonly 'level': "city" | "department";
readonly 'changedAt': string;
}

export interface WebhookTestDocument {
readonly '@context': "/contexts/WebhookTest";
readonly '@id': string;
readonly '@type': "WebhookTest";
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update" | "property.match.end" | "property.match.resume";
readonly 'adEvent'?: AdEventDocument;
readonly 'match': MatchDocument;
readonly 'delivery': {
readonly 'delivered': boolean;
readonly 'statusCode': number | null;
readonly 'durationMs': number;
readonly 'error': string | null;
readonly 'responseBody': string | null;
readonly 'token': string | null;
};
}

export interface UserDocument {
readonly '@context': "/contexts/User";
readonly '@id': string;
readonly '@type': "User";
readonly 'name': string;
readonly 'publicName': string;
}

export interface RecipientSummaryDocument {
readonly '@context': "/contexts/RecipientSummary";
readonly '@id': string;
readonly '@type': "RecipientSummary";
readonly 'address': string;
readonly 'searches': number;
readonly 'status': "off" | "active" | "unavailable" | "refused" | "unsubscribed" | "consent-missing";
readonly 'lastMailAt': string | null;
readonly 'consent': {
readonly 'source': string;
readonly 'at': string;
} | null;
}

export interface RecipientDocument {
readonly '@context': "/contexts/Recipient";
readonly '@id': string;
readonly '@type': "Recipient";
readonly 'address': string;
readonly 'unsubscribedAt': string | null;
readonly 'resubscribedAt': string | null;
readonly 'erasedAt': string | null;
readonly 'liftedAt': string | null;
readonly 'emailFrequencyChosen': "instant" | "daily" | "weekly" | null;
readonly 'emailFrequencyChosenAt': string | null;
readonly 'searchUnsubscriptions': readonly (SearchUnsubscriptionDocument)[];
readonly 'receivesNotices': boolean;
readonly 'searches': readonly (RecipientSearchDocument)[];
readonly 'emails': readonly (RecipientEmailDocument)[];
readonly 'emailCount': number;
}

export interface RecoveryDocument {
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

export interface ExplanationDocument {
readonly '@context': "/contexts/Explanation";
readonly '@id': string;
readonly '@type': "Explanation";
readonly 'search': string;
readonly 'property': string;
readonly 'satisfied': boolean;
readonly 'criteria': readonly (ExplainedCriterionDocument)[];
readonly 'match': string | null;
readonly 'matchReason': string;
readonly 'matchReasons': readonly ({
readonly 'code': string;
readonly 'at': string | null;
readonly 'reason': string;
})[];
readonly 'deliveries': readonly (string)[];
}

export interface PreviewDocument {
readonly '@context': "/contexts/Preview";
readonly '@id': string;
readonly '@type': "Preview";
readonly 'satisfiedNow': number;
readonly 'margin': number;
readonly 'estimated': boolean;
readonly 'startedPerDay': readonly (PreviewedDayDocument)[];
readonly 'perDay': number | null;
readonly 'knownSince': string | null;
readonly 'sample': readonly (PreviewedPropertyDocument)[];
readonly 'places': readonly (readonly [number, number])[];
readonly 'withoutCriterion': readonly (WiderSearchDocument)[];
}

export interface FoundPropertyDocument {
readonly '@context': "/contexts/FoundProperty";
readonly '@id': string;
readonly '@type': "FoundProperty";
readonly 'uuid': string;
readonly 'property': string;
readonly 'adverts': readonly (AdvertDocument)[];
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
readonly 'locations': CoordinatesDocument | null;
readonly 'pictures': readonly (string)[];
readonly 'city': PropertyCityDocument | null;
readonly 'stations': readonly (StationDocument)[];
readonly 'match': string | null;
readonly 'matchedAt': string | null;
readonly 'satisfiedSince': string | null;
readonly 'mark': PropertyMarkDocument | null;
}

export interface FeedDocument {
readonly '@context': "/contexts/Feed";
readonly '@id': string;
readonly '@type': "Feed";
readonly 'items': readonly (FeedItemDocument)[];
readonly 'next': string;
}

export interface MarkDocument {
readonly '@context': "/contexts/Mark";
readonly '@id': string;
readonly '@type': "Mark";
readonly 'search': string;
readonly 'property': string;
readonly 'state': "kept" | "hidden" | null;
readonly 'reason': string | null;
readonly 'note': string | null;
readonly 'markedAt': string | null;
}

export interface WebhookSecretDocument {
readonly '@context': "/contexts/WebhookSecret";
readonly '@id': string;
readonly '@type': "WebhookSecret";
readonly 'id': string;
readonly 'createdAt': string;
readonly 'expiresAt': string | null;
readonly 'hint': string;
readonly 'secret'?: string;
}

export interface EndpointDocument {
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

export interface CityReferenceDocument {
readonly '@context': "/contexts/City";
readonly '@id': string;
readonly '@type': "City";
readonly 'article': string;
readonly 'insee': string;
readonly 'libelle': string;
readonly 'name': string;
readonly 'zipcode': string;
}

export interface AdvertDocument {
readonly 'uuid': string;
readonly 'title': string | null;
readonly 'description': string | null;
readonly 'url': string | null;
readonly 'virtualTour': string | null;
readonly 'contact'?: ContactDocument | null;
readonly 'publisher': PublisherDocument | null;
readonly 'createdAt': string;
readonly 'updatedAt': string;
readonly 'lastCrawledAt': string;
readonly 'events': readonly (AdvertEventDocument)[];
readonly 'features': readonly (string)[];
readonly 'energy': EnergyRatingDocument | null;
readonly 'greenHouseGas': EnergyRatingDocument | null;
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

export interface AdvertEventDocument {
readonly 'event': "ad.update.price" | "ad.update.surface" | "ad.update.pictures" | "ad.update.expired" | "ad.update.reactivated" | "property.ad.create" | "property.ad.update";
readonly 'createdAt': string;
readonly 'fieldName': string | null;
readonly 'fieldOldValue': string | null;
readonly 'fieldNewValue': string | null;
readonly 'percentVariation': number | null;
}

export interface AdEventDocument {
readonly 'fieldName': string;
readonly 'fieldOldValue': string | null;
readonly 'fieldNewValue': string | null;
readonly 'percentVariation': string | null;
readonly 'createdAt': string;
readonly 'daysAway'?: number;
}

export interface ContactDocument {
readonly 'agency': string | null;
readonly 'email': string | null;
readonly 'fax': string | null;
readonly 'name': string | null;
readonly 'phone': string | null;
readonly 'reference': string | null;
}

export interface PublisherDocument {
readonly 'category': string | null;
readonly 'name': string | null;
readonly 'type': number | null;
}

export interface EnergyRatingDocument {
readonly 'category': string | null;
readonly 'value': number | null;
}

export interface PropertyMarkDocument {
readonly 'state': "kept" | "hidden" | null;
readonly 'reason': string | null;
readonly 'note': string | null;
readonly 'markedAt': string | null;
}

export interface PropertyCityDocument {
readonly 'id': number;
readonly 'cityParentId': number | null;
readonly 'insee': string;
readonly 'name': string;
readonly 'originalName': string;
readonly 'zipcode': string | null;
readonly 'country': CodedPlaceDocument;
readonly 'department': CodedPlaceDocument;
readonly 'region': CodedPlaceDocument;
readonly 'groupedCityNames': readonly (string)[];
readonly 'groupedCityZipcodes': readonly (string)[];
readonly 'hasGroupedByName': boolean;
readonly 'hasGroupedByZipcode': boolean;
readonly 'open': boolean;
readonly 'location': CoordinatesDocument | null;
}

export interface CodedPlaceDocument {
readonly 'code': string;
readonly 'id': number;
readonly 'name': string;
}

export interface CoordinatesDocument {
readonly 'lat': number;
readonly 'lon': number;
}

export interface StationDocument {
readonly 'id': number | null;
readonly 'name': string | null;
readonly 'lines': readonly (LineDocument)[];
}

export interface LineDocument {
readonly 'id': number | null;
readonly 'name': string | null;
readonly 'number': string | null;
readonly 'color': string | null;
readonly 'routeName': string | null;
}

export interface AttemptDocument {
readonly 'number': number;
readonly 'startedAt': string;
readonly 'durationMs': number | null;
readonly 'statusCode': number | null;
readonly 'error': "dns" | "connect" | "tls" | "timeout" | "reset" | "blocked" | "status" | "protocol" | "aborted" | null;
readonly 'reason': string | null;
readonly 'responseHead': string | null;
}

export interface EndpointHealthDocument {
readonly 'state': "healthy" | "failing" | "paused";
readonly 'failureStreak': number;
readonly 'backlog': number;
readonly 'oldestDueAt': string | null;
readonly 'lastSuccessAt': string | null;
readonly 'lastFailureAt': string | null;
readonly 'lastError': string | null;
}

export interface RecipientSearchDocument {
readonly 'search': string;
readonly 'title': string;
readonly 'publicTitle': string | null;
readonly 'mentionsOnly': boolean;
readonly 'mayContain': boolean;
readonly 'notificationConsent': {
readonly 'source': string;
readonly 'at': string;
} | null;
readonly 'refusedAt': string | null;
readonly 'deletedAt': string | null;
readonly 'marks': readonly (RecipientMarkDocument)[];
}

export interface RecipientMarkDocument {
readonly 'property': string;
readonly 'reason': string | null;
readonly 'note': string | null;
}

export interface RecipientEmailDocument {
readonly 'status': string;
readonly 'items': number;
readonly 'createdAt': string;
readonly 'finishedAt': string | null;
readonly 'attempts': readonly (RecipientAttemptDocument)[];
}

export interface RecipientAttemptDocument {
readonly 'startedAt': string;
readonly 'statusCode': number | null;
readonly 'error': string | null;
readonly 'reason': string | null;
}

export interface SearchUnsubscriptionDocument {
readonly 'search': string;
readonly 'unsubscribedAt': string | null;
readonly 'resubscribedAt': string | null;
}

export interface ExplainedCriterionDocument {
readonly 'criterion': "liveAdvert" | "transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "includedPublishers" | "marketDifference" | "pointsOfInterest" | "areas" | "excludedAreas" | "expressions" | "alternatives";
readonly 'expected': unknown;
readonly 'actual': unknown;
readonly 'holds': boolean;
readonly 'reason': string;
}

export interface PreviewedDayDocument {
readonly 'date': string;
readonly 'count': number;
}

export interface PreviewedPropertyDocument {
readonly 'property': string;
readonly 'satisfiedSince': string;
}

export interface WiderSearchDocument {
readonly 'criterion': "liveAdvert" | "transactionType" | "propertyTypes" | "budget" | "pricePerMeter" | "surface" | "landSurface" | "room" | "bedroom" | "advertPrice" | "furnished" | "publisherTypes" | "includedSiteCategories" | "withVirtualTour" | "withCoherentPrice" | "floor" | "lastFloor" | "elevator" | "constructionYear" | "condominiumFees" | "rentalCharges" | "energy" | "greenHouseGas" | "includedFeatures" | "excludedFeatures" | "includedPublishers" | "marketDifference" | "pointsOfInterest" | "areas" | "excludedAreas" | "expressions" | "alternatives";
readonly 'satisfiedNow': number;
readonly 'margin': number;
readonly 'estimated': boolean;
}

export interface FeedItemDocument {
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

export const RANGE_UNITS = {"budget":"€","pricePerMeter":"€/m²","surface":"m²","landSurface":"m²","room":"","bedroom":"","advertPrice":"€","floor":"","constructionYear":"","condominiumFees":"€","rentalCharges":"€","marketDifference":"%"} as const;

export const RANGE_MEMBERS = ["budgetMin","budgetMax","pricePerMeterMin","pricePerMeterMax","surfaceMin","surfaceMax","landSurfaceMin","landSurfaceMax","roomMin","roomMax","bedroomMin","bedroomMax","advertPriceMin","advertPriceMax","floorMin","floorMax","constructionYearMin","constructionYearMax","condominiumFeesMax","rentalChargesMax","marketDifferenceMin","marketDifferenceMax"] as const;

export const LETTER_MEMBERS = ["energyCategories","greenHouseGasCategories"] as const;

export const ENERGY_CATEGORIES = ["A","B","C","D","E","F","G"] as const;

export const FLAG_CRITERIA = ["furnished","elevator"] as const;

export const REQUIREMENTS = ["withVirtualTour","withCoherentPrice","lastFloor"] as const;

export const CRITERION_MEMBERS = {"transactionType":["transactionType"],"propertyTypes":["propertyTypes"],"budget":["budgetMin","budgetMax"],"pricePerMeter":["pricePerMeterMin","pricePerMeterMax"],"surface":["surfaceMin","surfaceMax"],"landSurface":["landSurfaceMin","landSurfaceMax"],"room":["roomMin","roomMax"],"bedroom":["bedroomMin","bedroomMax"],"advertPrice":["advertPriceMin","advertPriceMax"],"furnished":["furnished"],"publisherTypes":["publisherTypes"],"includedSiteCategories":["includedSiteCategories"],"withVirtualTour":["withVirtualTour"],"withCoherentPrice":["withCoherentPrice"],"floor":["floorMin","floorMax"],"lastFloor":["lastFloor"],"elevator":["elevator"],"constructionYear":["constructionYearMin","constructionYearMax"],"condominiumFees":["condominiumFeesMax"],"rentalCharges":["rentalChargesMax"],"energy":["energyCategories"],"greenHouseGas":["greenHouseGasCategories"],"includedFeatures":["includedFeatures"],"excludedFeatures":["excludedFeatures"],"includedPublishers":["includedPublishers"],"marketDifference":["marketDifferenceMin","marketDifferenceMax"],"pointsOfInterest":["pointsOfInterest"],"areas":["lat","lon","radius","includedCities","includedDepartments","includedZipcodes","includedInseeCodes","geoShapes"],"excludedAreas":["excludedCities","excludedDepartments","excludedZipcodes","excludedInseeCodes","excludedGeoShapes"],"expressions":["expressions"],"alternatives":["alternatives"],"liveAdvert":["excludedSiteCategories","excludedPublishers"]} as const;

export const FLAG_LABELS = {"elevator":{"fr":"Ascenseur","en":"Elevator"},"furnished":{"fr":"Meublé","en":"Furnished"}} as const;

export const VERIFIERS = {"Node.js":"verify.mjs","Python":"verify.py","Go":"verify.go","Java":"verify.java","PHP":"verify.php"} as const;

export const FEATURE_LABELS = {"balcony":{"fr":"Balcon","en":"Balcony"},"terrace":{"fr":"Terrasse","en":"Terrace"},"garden":{"fr":"Jardin","en":"Garden"},"cellar":{"fr":"Cave","en":"Cellar"},"parking":{"fr":"Parking","en":"Parking"},"garage":{"fr":"Garage","en":"Garage"},"pool":{"fr":"Piscine","en":"Pool"},"fireplace":{"fr":"Cheminée","en":"Fireplace"},"airConditioning":{"fr":"Climatisation","en":"Air conditioning"},"accessible":{"fr":"Accessible aux personnes à mobilité réduite","en":"Accessible"},"furnishedKitchen":{"fr":"Cuisine équipée","en":"Fitted kitchen"},"newBuild":{"fr":"Neuf","en":"New build"},"renovated":{"fr":"Rénové","en":"Renovated"},"toRenovate":{"fr":"À rénover","en":"To renovate"},"quiet":{"fr":"Calme","en":"Quiet"},"unobstructedView":{"fr":"Vue dégagée","en":"Unobstructed view"},"caretaker":{"fr":"Gardien","en":"Caretaker"},"intercom":{"fr":"Interphone","en":"Intercom"},"alarm":{"fr":"Alarme","en":"Alarm"}} as const;
