// The fields of a reset about the App Store Server API and certificates.

extension SimulatorSettings {
    static let apiFields = [
        SimulatorRoute.Field(
            "api_keys", "array",
            "[{key_id, issuer_id, public_key or private_key: PEM}] instead of the well-known key."),
        SimulatorRoute.Field(
            "api_rate_limits", "string", "off (default), virtual or real: the clock that counts."),
        SimulatorRoute.Field(
            "revoked_certificates", "array",
            "Which of leaf and intermediate the OCSP responder reports as revoked."),
    ]

    mutating func readAPI(_ body: RequestBody) throws(SimulatorProblem) {
        if let list = body.value("api_keys") {
            guard let list = list.array, list.count <= APIKey.keysMax else {
                throw RequestBody.invalidField(
                    "api_keys", "a list of at most \(APIKey.keysMax) keys")
            }
            var keys: [APIKey] = []
            for key in list {
                let known = ["key_id", "issuer_id", "public_key", "private_key"]
                keys.append(try APIKey(RequestBody(key, known: known, place: "A key")))
            }
            apiKeys = keys
        }
        if let text = try body.string("api_rate_limits") {
            guard let time = RateLimits.Time(rawValue: text) else {
                throw RequestBody.invalidField("api_rate_limits", "off, virtual or real")
            }
            apiRateLimits = time
        }
        if let list = body.value("revoked_certificates") {
            let names = (list.array ?? []).compactMap(\.string)
            let subjects = names.compactMap { RevocationResponder.Subject(rawValue: $0) }
            guard list.array?.count == subjects.count else {
                throw RequestBody.invalidField(
                    "revoked_certificates", "a list of leaf and intermediate")
            }
            revokedCertificates = Set(subjects)
        }
    }
}

extension APIKey {
    fileprivate init(_ body: RequestBody) throws(SimulatorProblem) {
        let id = try body.requiredString("key_id")
        let issuerID = try body.requiredString("issuer_id")
        let publicKey = try body.string("public_key")
        let text = try publicKey == nil ? body.requiredString("private_key") : publicKey
        guard let text, let key = APIKey(id: id, issuerID: issuerID, pem: text) else {
            throw RequestBody.invalidField("public_key", "a key of P-256 in PEM")
        }
        self = key
    }
}
