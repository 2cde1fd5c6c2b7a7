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
            simulator.imageList(call)
        },
        APIEndpoint(
            .put, "\(root)/image/{id}", perSecond: 1, bodyBytesMax: imageBytesMax
        ) { simulator, call in
            let id = try call.uuid("id", else: .badRequest)
            let approved = RetentionMessaging.approval(
                in: call.environment, at: simulator.clock.now)
            return try simulator.changeMessaging(call) { messaging throws(APIError) in
                try messaging.uploadImage(
                    id, call.bytes, size: call.value("imageSize"), approved: approved)
            }
        },
        APIEndpoint(.delete, "\(root)/image/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .imageNotFound)
            return try simulator.changeMessaging(call) { messaging throws(APIError) in
                try messaging.deleteImage(id)
            }
        },
    ]

    private static let messages = [
        APIEndpoint(.get, "\(root)/message/list", perSecond: 1) { simulator, call in
            simulator.messageList(call)
        },
        APIEndpoint(.put, "\(root)/message/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .badRequest)
            let body = try call.body()
            let approved = RetentionMessaging.approval(
                in: call.environment, at: simulator.clock.now)
            return try simulator.changeMessaging(call) { messaging throws(APIError) in
                try messaging.uploadMessage(id, body, approved: approved)
            }
        },
        APIEndpoint(.delete, "\(root)/message/{id}", perSecond: 1) { simulator, call in
            let id = try call.uuid("id", else: .messageNotFound)
            return try simulator.changeMessaging(call) { messaging throws(APIError) in
                try messaging.deleteMessage(id)
            }
        },
    ]

    private static let defaults = [
        APIEndpoint(.put, "\(root)/default/{product}/{locale}", perSecond: 10) {
            simulator, call in
            try simulator.setDefaultMessage(call)
        },
        APIEndpoint(.get, "\(root)/default/{product}/{locale}", perSecond: 1) {
            simulator, call in
            let place = try simulator.place(call)
            guard let id = simulator.messaging(call).defaults[place] else {
                throw APIError.defaultMessageNotFound
            }
            return .ok([.init("messageIdentifier", .string(id))])
        },
        APIEndpoint(.delete, "\(root)/default/{product}/{locale}", perSecond: 1) {
            simulator, call in
            let place = try simulator.place(call)
            return try simulator.changeMessaging(call) { messaging throws(APIError) in
                guard messaging.defaults.removeValue(forKey: place) != nil else {
                    throw .defaultMessageNotFound
                }
            }
        },
    ]

    private static let realtime = [
        APIEndpoint(.put, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            try simulator.setRealtimeURL(call)
        },
        APIEndpoint(.get, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            guard let url = simulator.messaging(call).realtimeURL else {
                throw APIError.realtimeURLNotFound
            }
            return .ok([.init("realtimeURL", .string(url))])
        },
        APIEndpoint(.delete, "\(root)/realtime/url", perSecond: 1) { simulator, call in
            try simulator.changeMessaging(call) { messaging throws(APIError) in
                guard messaging.realtimeURL != nil else { throw .realtimeURLNotFound }
                messaging.realtimeURL = nil
            }
        },
        APIEndpoint(
            .post, "\(root)/performanceTest", perSecond: 1, place: .sandboxOnly
        ) { simulator, call in
            try await simulator.startPerformanceTest(call)
        },
        APIEndpoint(
            .get, "\(root)/performanceTest/result/{id}", perSecond: 1, place: .sandboxOnly
        ) { simulator, call in
            let id = try call.uuid("id", else: .invalidRequestID)
            guard let test = simulator.messaging(call).performanceTests[id] else {
                throw APIError.performanceTestNotFound
            }
            return APIResponse(200, test.json)
        },
    ]
}

extension AppStoreSimulator {
    fileprivate func messaging(_ call: APICall) -> RetentionMessaging {
        api.messaging[call.environment] ?? RetentionMessaging()
    }

    fileprivate func changeMessaging(
        _ call: APICall, _ change: (inout RetentionMessaging) throws(APIError) -> Void
    ) throws(APIError) -> APIResponse {
        try change(&api.messaging[call.environment, default: RetentionMessaging()])
        return APIResponse(200)
    }

    fileprivate func imageList(_ call: APICall) -> APIResponse {
        let images = messaging(call).images
        let list = images.keys.sorted().compactMap { id in
            images[id].map { image -> JSON in
                [
                    "imageIdentifier": .string(id), "imageState": state(image.approved),
                    "imageSize": .string(image.size),
                ]
            }
        }
        return .ok([.init("imageIdentifiers", .array(list))])
    }

    fileprivate func messageList(_ call: APICall) -> APIResponse {
        let messages = messaging(call).messages
        let list = messages.keys.sorted().compactMap { id in
            messages[id].map { message -> JSON in
                ["messageIdentifier": .string(id), "messageState": state(message.approved)]
            }
        }
        return .ok([.init("messageIdentifiers", .array(list))])
    }

    private func state(_ approved: AppStoreDate) -> JSON {
        approved <= clock.now ? "APPROVED" : "PENDING"
    }

    /// The product and locale in a path.
    fileprivate func place(_ call: APICall) throws(APIError) -> RetentionMessaging.Place {
        let product = call.parameter("product")
        guard settings.shop.products.contains(where: { $0.id == product }) else {
            throw .invalidProductID
        }
        let locale = call.parameter("locale")
        guard locale.wholeMatch(of: /[a-z]{2,3}([-_][A-Za-z0-9]{2,4})*/) != nil else {
            throw .invalidLocale
        }
        return RetentionMessaging.Place(productID: product, locale: locale)
    }

    fileprivate func setDefaultMessage(_ call: APICall) throws -> APIResponse {
        let place = try place(call)
        let text = try call.body()["messageIdentifier"]?.string
        guard let id = text.flatMap({ UUID(uuidString: $0) }) else { throw APIError.badRequest }
        let now = clock.now
        return try changeMessaging(call) { messaging throws(APIError) in
            try messaging.setDefault(id.uuidString.lowercased(), at: place, now: now)
        }
    }

    /// Sets the realtime URL. In production this requires a passed test in the sandbox.
    fileprivate func setRealtimeURL(_ call: APICall) throws -> APIResponse {
        let url = try call.body()["realtimeURL"]?.string ?? ""
        guard let parts = URL(string: url), parts.host != nil,
            parts.scheme?.hasPrefix("http") == true,
            url.count <= RetentionMessaging.urlLengthMax
        else { throw APIError.invalidRealtimeURL }
        if call.environment == .production {
            let tests = api.messaging[.sandbox]?.performanceTests.values
            guard tests?.contains(where: { $0.isPassed && $0.target == url }) == true else {
                throw APIError.noPassingTest
            }
        }
        return try changeMessaging(call) { messaging throws(APIError) in
            messaging.realtimeURL = url
        }
    }

    fileprivate func startPerformanceTest(_ call: APICall) async throws -> APIResponse {
        guard let id = try call.body()["originalTransactionId"]?.string,
            let subscription = world.subscriptions[id],
            subscription.account.environment == .sandbox
        else { throw APIError.invalidPerformanceTest }
        guard let url = messaging(call).realtimeURL else { throw APIError.realtimeURLNotFound }
        guard messaging(call).performanceTests.count < PerformanceTest.storedMax else {
            throw APIError.invalidPerformanceTest
        }
        let requestID = world.newUUID()
        var bodies: [[UInt8]] = []
        for _ in 0..<PerformanceTest.requests {
            bodies.append(try realtimeRequest(about: subscription))
        }
        let test = await PerformanceTest.run(bodies, against: url, post: post)
        _ = try changeMessaging(call) { messaging throws(APIError) in
            messaging.performanceTests[requestID] = test
        }
        return .ok([
            .init("config", PerformanceTest.config), .init("requestId", .string(requestID)),
        ])
    }

    /// What Apple posts to ask which message to show, as defined on the page
    /// "DecodedRealtimeRequestBody".
    private func realtimeRequest(about subscription: Subscription) throws -> [UInt8] {
        let environment = subscription.account.environment
        let payload: JSON = [
            "originalTransactionId": .string(subscription.id),
            "appAppleId": .integer(settings.appAppleID),
            "productId": .string(subscription.latest.product.id), "userLocale": "en-US",
            "requestIdentifier": .string(world.newUUID()),
            "environment": environment.storeEnvironment.json,
            "signedDate": world.signatureDate(of: subscription.id, at: clock.now).json,
        ]
        let body: JSON = ["signedPayload": .string(try authority.sign(payload))]
        return body.bytes
    }
}
