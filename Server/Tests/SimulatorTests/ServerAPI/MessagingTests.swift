import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct MessagingTests {
    private static let now = AppStoreDate(milliseconds: 1_768_075_200_000)
    private static let png: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52,
    ]
    private static let image = "00000000-0000-0000-0000-000000000001"

    private func messaging(approved: AppStoreDate = now) throws -> RetentionMessaging {
        var messaging = RetentionMessaging()
        try messaging.uploadImage(Self.image, Self.png, size: nil, approved: approved)
        return messaging
    }

    private static func text(_ length: Int) -> JSON {
        .string(String(repeating: "é", count: length))
    }

    private static let point: JSON = [
        "text": "Songs", "imageIdentifier": .string(image), "altText": "A note",
    ]

    private static let messages: [(JSON, APIError?)] = [
        (["header": text(66), "body": text(144)], nil),
        (["header": text(67), "body": "Please."], .headerTooLong),
        (["header": "Stay", "body": text(145)], .bodyTooLong),
        (["header": "Stay"], .badRequest),
        (
            [
                "header": "Stay", "body": "Please.",
                "image": ["imageIdentifier": .string(image), "altText": text(150)],
                "headerPosition": "ABOVE_IMAGE",
            ], nil
        ),
        (
            [
                "header": "Stay", "body": "Please.",
                "image": ["imageIdentifier": .string(image), "altText": text(151)],
            ], .altTextTooLong
        ),
        (
            ["header": "Stay", "body": "Please.", "headerPosition": "ABOVE_IMAGE"],
            .aboveImageWithoutImage
        ),
        (
            [
                "header": "Stay", "body": "Please.",
                "bulletPoints": .array(Array(repeating: point, count: 5)),
            ], nil
        ),
        (
            [
                "header": "Stay", "body": "Please.",
                "bulletPoints": .array(Array(repeating: point, count: 6)),
            ], .tooManyBulletPoints
        ),
        (
            ["header": "Stay", "body": "Please.", "bulletPoints": [["text": text(67)]]],
            .bulletPointTooLong
        ),
        (
            [
                "header": "Stay", "body": "Please.",
                "image": [
                    "imageIdentifier": "00000000-0000-0000-0000-000000000009", "altText": "?",
                ],
            ], .imageNotFound
        ),
    ]

    @Test func `a retention message is accepted, or refused with its error number`() throws {
        for (body, expected) in Self.messages {
            var messaging = try messaging()
            var found: APIError?
            do throws(APIError) {
                try messaging.uploadMessage("m", body, approved: Self.now)
            } catch { found = error }
            #expect(found == expected, "\(body.text)")
            #expect(messaging.messages.isEmpty == (expected != nil))
        }
    }

    @Test func `an image in use cannot be deleted, but an unused image can`() throws {
        var messaging = try messaging()
        let body: JSON = ["header": "Stay", "body": "Please.", "bulletPoints": [Self.point]]
        try messaging.uploadMessage("m", body, approved: Self.now)
        #expect(throws: APIError.imageInUse) { try messaging.deleteImage(Self.image) }
        try messaging.deleteMessage("m")
        try messaging.deleteImage(Self.image)
        #expect(throws: APIError.imageNotFound) { try messaging.deleteImage(Self.image) }
    }

    @Test func `a message that is not approved cannot be the default`() throws {
        let later = AppStoreDate(milliseconds: Self.now.milliseconds + 1)
        let place = RetentionMessaging.Place(productID: "pro", locale: "en-US")
        let body: JSON = ["header": "Stay", "body": "Please.", "bulletPoints": [Self.point]]
        var messaging = try messaging(approved: later)
        try messaging.uploadMessage("m", body, approved: Self.now)
        #expect(throws: APIError.imageNotApproved) {
            try messaging.setDefault("m", at: place, now: Self.now)
        }
        try messaging.uploadMessage("n", body, approved: later)
        #expect(throws: APIError.messageNotApproved) {
            try messaging.setDefault("n", at: place, now: Self.now)
        }
        try messaging.setDefault("n", at: place, now: later)
        #expect(messaging.defaults[place] == "n")
        try messaging.deleteMessage("n")
        #expect(messaging.defaults.isEmpty)
    }

    @Test func `the sandbox approves a message at once, production after a day`() {
        #expect(RetentionMessaging.approval(in: .sandbox, at: Self.now) == Self.now)
        let production = RetentionMessaging.approval(in: .production, at: Self.now)
        #expect(production.milliseconds - Self.now.milliseconds == 86_400_000)
    }

    @Test(arguments: [(nil, true), ("BULLET_POINT", true), ("SMALL", false)])
    func `an image has one of two sizes`(size: String?, isGood: Bool) throws {
        var messaging = RetentionMessaging()
        let result = Result { () throws(APIError) in
            try messaging.uploadImage("i", Self.png, size: size, approved: Self.now)
        }
        switch result {
        case .success: #expect(isGood)
        case .failure(let error): #expect(!isGood && error == .invalidImageSize)
        }
    }

    @Test func `a performance test fails if too many of its responses fail`() async {
        let letterBox = LetterBox()
        letterBox.answer(Array(repeating: PostResult(status: 500), count: 2))
        let bodies = Array(repeating: [UInt8]("{}".utf8), count: 20)
        let failed = await PerformanceTest.run(bodies, against: "url") { _, body in
            letterBox.take(body)
        }
        #expect(!failed.isPassed && failed.json["successRate"] == 90)
        #expect(failed.json["failures"] == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE": 2])
        #expect(letterBox.count == 20)
        let passed = await PerformanceTest.run(bodies, against: "url") { _, body in
            letterBox.take(body)
        }
        #expect(passed.isPassed && passed.json["result"] == "PASS")
    }
}
