import AppStoreFormats
import Foundation

/// The Retention Messaging endpoints: see ``RetentionMessaging``.
enum MessagingEndpoints {
    /// Maximum number of bytes of an image.
    static let imageBytesMax = 10_485_760

    private static let root = "v1/messaging"

    static let all = images + messages + defaults + realtime

    private static let images = [
        APIEndpoint(.get, "\(root)/image/list", perSecond: 1) { simulator, call in
            imageList(call, in: simulator)
        },
        APIEndpoint(
            .put, "\(root)/image/{id}", perSecond: 1, bodyBytesMax: imageBytesMax
        ) { simulator, call in
            let id = try call.uuid("id", else: .badRequest)
            let approved = RetentionMessaging.approval(
                in: call.environment, at: simulator.clock.now)
            return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                try messaging.uploadImage(
                    id, call.bytes, size: call.value("imageSize"), approved: approved)
            }
        },
        APIEndpoint(.delete, "\(root)/image/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .imageNotFound)
            return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                try messaging.deleteImage(id)
            }
        },
    ]

    private static let messages = [
        APIEndpoint(.get, "\(root)/message/list", perSecond: 1) { simulator, call in
            messageList(call, in: simulator)
        },
        APIEndpoint(.put, "\(root)/message/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .badRequest)
            let body = try call.body()
            let approved = RetentionMessaging.approval(
                in: call.environment, at: simulator.clock.now)
            return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                try messaging.uploadMessage(id, body, approved: approved)
            }
        },
        APIEndpoint(.delete, "\(root)/message/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .messageNotFound)
            return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                try messaging.deleteMessage(id)
            }
        },
    ]

    private static let defaults = [
        APIEndpoint(.put, "\(root)/default/{product}/{locale}", perSecond: 10) {
            simulator, call in
            try setDefaultMessage(call, in: simulator)
        },
        APIEndpoint(.get, "\(root)/default/{product}/{locale}", perSecond: 1) {
            simulator, call in
            let place = try place(call, in: simulator)
            guard let id = messaging(call, in: simulator).defaults[place] else {
                throw APIError.defaultMessageNotFound
            }
            return .ok([.init("messageIdentifier", .string(id))])
        },
        APIEndpoint(.delete, "\(root)/default/{product}/{locale}", perSecond: 1) {
            simulator, call in
            let place = try place(call, in: simulator)
            return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                guard messaging.defaults.removeValue(forKey: place) != nil else {
                    throw .defaultMessageNotFound
                }
            }
        },
    ]

    private static let realtime = [
        APIEndpoint(.put, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            try setRealtimeURL(call, in: simulator)
        },
        APIEndpoint(.get, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            guard let url = messaging(call, in: simulator).realtimeURL else {
                throw APIError.realtimeURLNotFound
            }
            return .ok([.init("realtimeURL", .string(url))])
        },
        APIEndpoint(.delete, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            try changeMessaging(call, in: simulator) { messaging throws(APIError) in
                guard messaging.realtimeURL != nil else { throw .realtimeURLNotFound }
                messaging.realtimeURL = nil
            }
        },
        APIEndpoint(
            .post, "\(root)/performanceTest", perSecond: 1, place: .sandboxOnly
        ) { simulator, call in
            try await startPerformanceTest(call, in: simulator)
        },
        APIEndpoint(
            .get, "\(root)/performanceTest/result/{id}", perSecond: 1, place: .sandboxOnly
        ) { simulator, call in
            let id = try call.uuid("id", else: .invalidRequestID)
            guard let test = messaging(call, in: simulator).performanceTests[id] else {
                throw APIError.performanceTestNotFound
            }
            return APIResponse(200, test.json)
        },
    ]
}

extension MessagingEndpoints {
    private static func messaging(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) -> RetentionMessaging {
        simulator.api.messaging[call.environment] ?? RetentionMessaging()
    }

    private static func changeMessaging(
        _ call: APICall, in simulator: isolated AppStoreSimulator,
        _ change: (inout RetentionMessaging) throws(APIError) -> Void
    ) throws(APIError) -> APIResponse {
        try change(&simulator.api.messaging[call.environment, default: RetentionMessaging()])
        return APIResponse(200)
    }

    private static func imageList(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) -> APIResponse {
        let images = messaging(call, in: simulator).images
        let list = images.keys.sorted().compactMap { id in
            images[id].map { image -> JSON in
                [
                    "imageIdentifier": .string(id),
                    "imageState": state(image.approved, in: simulator),
                    "imageSize": .string(image.size),
                ]
            }
        }
        return .ok([.init("imageIdentifiers", .array(list))])
    }

    private static func messageList(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) -> APIResponse {
        let messages = messaging(call, in: simulator).messages
        let list = messages.keys.sorted().compactMap { id in
            messages[id].map { message -> JSON in
                [
                    "messageIdentifier": .string(id),
                    "messageState": state(message.approved, in: simulator),
                ]
            }
        }
        return .ok([.init("messageIdentifiers", .array(list))])
    }

    private static func state(
        _ approved: AppStoreDate, in simulator: isolated AppStoreSimulator
    ) -> JSON {
        approved <= simulator.clock.now ? "APPROVED" : "PENDING"
    }

    /// The product and locale in a path.
    private static func place(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws(APIError) -> RetentionMessaging.Place {
        let product = call.parameter("product")
        guard simulator.settings.shop.products.contains(where: { $0.id == product }) else {
            throw .invalidProductID
        }
        let locale = call.parameter("locale")
        guard locale.wholeMatch(of: /[a-z]{2,3}([-_][A-Za-z0-9]{2,4})*/) != nil else {
            throw .invalidLocale
        }
        return RetentionMessaging.Place(productID: product, locale: locale)
    }

    private static func setDefaultMessage(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let place = try place(call, in: simulator)
        let text = try call.body()["messageIdentifier"]?.string
        guard let id = text.flatMap({ UUID(uuidString: $0) }) else { throw APIError.badRequest }
        let now = simulator.clock.now
        return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
            try messaging.setDefault(id.uuidString.lowercased(), at: place, now: now)
        }
    }

    /// Sets the realtime URL. In production this requires that a test in the sandbox was passed.
    private static func setRealtimeURL(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let url = try call.body()["realtimeURL"]?.string ?? ""
        guard let parts = URL(string: url), parts.host != nil,
            parts.scheme?.hasPrefix("http") == true,
            url.count <= RetentionMessaging.urlLengthMax
        else { throw APIError.invalidRealtimeURL }
        if call.environment == .production {
            let tests = simulator.api.messaging[.sandbox]?.performanceTests.values
            guard tests?.contains(where: { $0.isPassed && $0.target == url }) == true else {
                throw APIError.noPassingTest
            }
        }
        return try changeMessaging(call, in: simulator) { messaging throws(APIError) in
            messaging.realtimeURL = url
        }
    }

    private static func startPerformanceTest(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        guard let id = try call.body()["originalTransactionId"]?.string,
            let subscription = simulator.world.subscriptions[id],
            subscription.account.environment == .sandbox
        else { throw APIError.invalidPerformanceTest }
        guard let url = messaging(call, in: simulator).realtimeURL else {
            throw APIError.realtimeURLNotFound
        }
        guard messaging(call, in: simulator).performanceTests.count < PerformanceTest.storedMax
        else {
            throw APIError.invalidPerformanceTest
        }
        let requestID = simulator.world.numbers.newUUID()
        var bodies: [[UInt8]] = []
        for _ in 0..<PerformanceTest.requests {
            bodies.append(try realtimeRequest(about: subscription, in: simulator))
        }
        let test = await PerformanceTest.run(bodies, against: url, post: simulator.post)
        _ = try changeMessaging(call, in: simulator) { messaging throws(APIError) in
            messaging.performanceTests[requestID] = test
        }
        return .ok([
            .init("config", PerformanceTest.config), .init("requestId", .string(requestID)),
        ])
    }

    /// The body that Apple posts to ask which message to show, as defined on the page
    /// "DecodedRealtimeRequestBody".
    private static func realtimeRequest(
        about subscription: Subscription, in simulator: isolated AppStoreSimulator
    ) throws -> [UInt8] {
        let environment = subscription.account.environment
        let payload: JSON = [
            "originalTransactionId": .string(subscription.id),
            "appAppleId": .integer(simulator.settings.appAppleID),
            "productId": .string(subscription.latest.product.id), "userLocale": "en-US",
            "requestIdentifier": .string(simulator.world.numbers.newUUID()),
            "environment": environment.storeEnvironment.json,
            "signedDate": simulator.world.signingDates.reserve(
                for: subscription.id, at: simulator.clock.now
            ).json,
        ]
        let body: JSON = ["signedPayload": .string(try simulator.authority.sign(payload))]
        return body.bytes
    }
}
