import AppStoreFormats

extension RevenueCatDouble {
    /// A response. It is an HTTP response without HTTP.
    package struct Answer: Hashable, Sendable {
        package var status: Int
        /// The headers, with names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]
        /// Whether no response arrives: the caller waits until its own time limit.
        package var isLost = false

        init(_ status: Int, _ json: JSON, headers: [String: String] = [:]) {
            self.init(status, body: json.bytes, type: "application/json", headers: headers)
        }

        init(
            _ status: Int, body: [UInt8], type: String, headers: [String: String] = [:]
        ) {
            self.status = status
            self.headers = headers
            self.headers["content-type"] = type
            self.body = body
        }
    }

    /// The faults of the transport, independent of the double's opinions. Which requests fail
    /// depends on the seed, the path and the number of requests for that path only, so the order of
    /// concurrent requests does not matter.
    package struct TransportFaults: Sendable {
        /// A path fails at most this often in a row, so that a caller who tries again succeeds.
        package static let failuresMax = 2

        package var seed: UInt64 = 1
        /// Shares of requests, from 0 to 1.
        package var tooManyRequests = 0.0
        package var unavailable = 0.0
        package var htmlPages = 0.0
        package var cutBodies = 0.0
        package var hugeBodies = 0.0
        /// A list of customers with a greater limit takes too long. Nil if every limit works.
        package var pageMax: Int?
        /// Whether no response arrives for such a list. If false, the response is 504.
        package var losesLargePages = false
        /// Share of customers that lists leave out, although each can be read by its id.
        package var omittedCustomers = 0.0
        /// Share of customers that the next page repeats.
        package var repeatedCustomers = 0.0
        /// The number of requests after which the key is no longer valid. Nil for a key that stays
        /// valid.
        package var keyExpiresAfter: Int?
        /// Whether the key lacks the permission to read customers.
        package var isForbidden = false

        package init() {}

        /// Seconds in the Retry-After header of a fault.
        static let retryAfterSeconds: Int64 = 1
        /// More than a caller should read.
        static let hugeBody = 5_000_000

        /// The response that replaces the true one. Nil if the request does not fail.
        ///
        /// - Parameter attempt: the number of earlier requests for the path.
        func failure(of path: String, attempt: Int) -> Failure? {
            guard attempt % (Self.failuresMax + 1) < Self.failuresMax else { return nil }
            var rest = StableHash.fraction(seed, path, "\(attempt)")
            let odds: [(Double, Failure)] = [
                (tooManyRequests, .tooManyRequests), (unavailable, .unavailable),
                (htmlPages, .htmlPage), (cutBodies, .cutBody), (hugeBodies, .hugeBody),
            ]
            for (share, failure) in odds {
                if rest < share { return failure }
                rest -= share
            }
            return nil
        }

        enum Failure { case tooManyRequests, unavailable, htmlPage, cutBody, hugeBody }

        func omits(_ customer: String) -> Bool {
            StableHash.fraction(seed, customer, "omitted") < omittedCustomers
        }

        func repeats(_ customer: String) -> Bool {
            StableHash.fraction(seed, customer, "repeated") < repeatedCustomers
        }
    }

    /// Requests per minute (RevenueCat's page "REST API v2 Reference", Rate Limit).
    package struct RateLimits: Sendable {
        package enum Domain: Hashable, Sendable { case customerInformation, projectConfiguration }

        package var perMinute: [Domain: Int] = [
            .customerInformation: 480, .projectConfiguration: 60,
        ]
        /// The time for counting requests, in milliseconds since an arbitrary moment.
        let milliseconds: @Sendable () -> Int64

        package init(milliseconds: @escaping @Sendable () -> Int64) {
            self.milliseconds = milliseconds
        }
    }
}
