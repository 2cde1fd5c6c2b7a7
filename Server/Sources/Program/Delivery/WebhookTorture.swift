import Courier
import Ledger
import PerennialContract

/// The deliveries that test a receiver of webhooks. The receiver must accept valid deliveries in
/// unusual forms, and must refuse invalid ones.
///
/// The answers show only what a receiver accepts. Only its developer can see whether it processed a
/// duplicate twice.
struct WebhookTorture: Sendable {
    /// The number of pieces of a slow body.
    static let slowPieces = 6
    static let slowPause = Duration.milliseconds(500)
    /// The number of bytes of a large body: the largest that Standard Webhooks recommends.
    static let largeBytes = 20_000
    /// The ages of two deliveries, in seconds. A receiver should accept an age of up to five
    /// minutes: the first delivery is older, the second younger.
    private static let tooOldSeconds: Int64 = 3_600
    private static let oldSeconds: Int64 = 240

    /// A test of a receiver: one or several deliveries, and the only right answer to them.
    struct Case: Sendable {
        enum Expectation: String, Sendable {
            case accepted = "2xx"
            case refused = "4xx"

            func includes(_ status: Int) -> Bool {
                switch self {
                case .accepted: (200...299).contains(status)
                case .refused: (400...499).contains(status)
                }
            }
        }

        let name: String
        let expected: Expectation
        /// What is probably wrong with a receiver that gives another answer.
        let advice: String
        var deliveries: [WebhookDelivery]
        /// Whether to send all deliveries at the same time.
        var isConcurrent = false

        init(
            _ name: String, _ expected: Expectation, _ advice: String,
            _ deliveries: [WebhookDelivery], isConcurrent: Bool = false
        ) {
            (self.name, self.expected, self.advice) = (name, expected, advice)
            (self.deliveries, self.isConcurrent) = (deliveries, isConcurrent)
        }
    }

    let secret: WebhookSecret
    /// The time of the deliveries.
    let at: Instant
    /// Distinguishes the ids of this run from the ids of other runs.
    let run: UInt32

    init(secret: WebhookSecret, at: Instant, run: UInt32) {
        (self.secret, self.at, self.run) = (secret, at, run)
    }

    /// Sends the deliveries of all cases, one case after the other.
    ///
    /// - Throws: ``StartFailure`` if the first delivery gets no response.
    func findings(of receiver: WebhookReceiverClient) async throws -> [WebhookFinding] {
        var findings: [WebhookFinding] = []
        for one in cases {
            let answers = await receiver.answers(to: one)
            if findings.isEmpty, case .none(let why)? = answers.first {
                throw StartFailure(
                    "No receiver answers at \(receiver.url): \(why).",
                    remedy: "Start the receiver, and name the URL that it listens at.")
            }
            findings.append(WebhookFinding(one, answers))
        }
        return findings
    }

    // MARK: - Cases

    var cases: [Case] { rightCases + wrongTimes + wrongSignatures }

    private var rightCases: [Case] {
        let twice = delivery(1)
        return [
            Case("a valid delivery", .accepted, "It refuses a valid delivery.", [delivery(0)]),
            Case(
                "the same delivery twice", .accepted,
                "Answer a delivery whose id you know with 2xx, or it is sent again for days.",
                [twice, twice]),
            Case(
                "the same event again, with a new time and signature", .accepted,
                "A repeated attempt has the same id, a new time and a new signature.",
                [twice.signed(at: seconds + 1, by: [secret])]),
            Case(
                "the same delivery twice at the same time", .accepted,
                "Let the database decide which one came first, by a unique key on the id.",
                [delivery(2), delivery(2)], isConcurrent: true),
            Case(
                "an older event after a newer one", .accepted,
                "The order is not promised. Compare customer_sequence, or read the log.",
                [delivery(4), delivery(3)]),
            Case(
                "four minutes old", .accepted,
                "Accept five minutes: clocks differ, and a queue may hold a delivery.",
                [delivery(5, at: seconds - Self.oldSeconds)]),
            Case(
                "an unknown type", .accepted,
                "New types are added. Ignore those that you do not know.",
                [delivery(6, type: "type_of_the_future")]),
            Case(
                "unknown members", .accepted, "New members are added. Ignore them.",
                [delivery(7, more: #","member_of_the_future":{"a":[1,null]}"#)]),
            Case(
                "white space in the JSON", .accepted,
                "Verify the bytes that arrived, not JSON that was read and written again.",
                [delivery(8, more: " , \"note\" :\t\"1.0\" ")]),
            Case(
                "letters that are not ASCII", .accepted,
                "Verify the bytes that arrived; the body is UTF-8.",
                [delivery(9, more: #","note":"Zoë 🐦 \u00e9"# + "\"")]),
            Case(
                "a large body", .accepted, "Bodies of 20 kB are usual.",
                [
                    delivery(
                        10, more: ",\"note\":\"\(String(repeating: "x", count: Self.largeBytes))\"")
                ]),
            Case(
                "a slow body", .accepted, "Read until the body ends; it may arrive in pieces.",
                [delivery(11).slow]),
            Case(
                "several signatures, of which one is right", .accepted,
                "Try every signature: there are several while a secret is replaced.",
                [delivery(12, by: [other, secret, other])]),
            Case(
                "a signature of an unknown version before the right one", .accepted,
                "Skip versions that you do not know.",
                [delivery(13).changing { $0.signatures = "v9,AAAA v1a,AAAA " + $0.signatures }]),
        ]
    }

    private var wrongTimes: [Case] {
        [
            Case(
                "an hour old", .refused,
                "Refuse what is older than five minutes: it may be a replay.",
                [delivery(20, at: seconds - Self.tooOldSeconds)]),
            Case(
                "an hour ahead", .refused, "Refuse what is more than five minutes ahead.",
                [delivery(21, at: seconds + Self.tooOldSeconds)]),
            Case(
                "a time that was changed", .refused, "The time is signed, too.",
                [delivery(22).changing { $0.time = "\(seconds + 1)" }]),
            Case(
                "a time that is no number", .refused, "Refuse it; do not fail.",
                [delivery(23).changing { $0.time = "now" }]),
        ]
    }

    private var wrongSignatures: [Case] {
        let right = delivery(30)
        return [
            Case(
                "a signature by another secret", .refused, "It does not check the signature.",
                [delivery(31, by: [other])]),
            Case(
                "a body that was changed", .refused, "It does not check the signature of the body.",
                [right.changing { $0.body = Array(text(30, "expired", "").utf8) }]),
            Case(
                "an id that was changed", .refused, "The id is signed, too.",
                [right.changing { $0.id += "0" }]),
            Case(
                "a signature that was cut off", .refused, "Compare whole signatures.",
                [right.changing { $0.signatures = String($0.signatures.prefix(12)) }]),
            Case(
                "an empty signature", .refused, "Refuse it; do not fail.",
                [right.changing { $0.signatures = "v1," }]),
            Case(
                "no signature", .refused, "Refuse what is not signed.",
                [right.changing { $0.signatures = "" }]),
            Case(
                "the right signature under an unknown version", .refused,
                "Only v1 means this way of signing.",
                [right.changing { $0.signatures = "v9" + $0.signatures.dropFirst(2) }]),
            Case(
                "no header at all", .refused, "Refuse what is not signed.",
                [right.changing { ($0.id, $0.time, $0.signatures) = ("", "", "") }]),
        ]
    }

    // MARK: - Deliveries

    private var seconds: Int64 { at.milliseconds / 1000 }

    /// A secret that the receiver does not know.
    private var other: WebhookSecret {
        var random = FixedBytes(value: 0x5a)
        return .fresh(by: &random)
    }

    private func delivery(
        _ number: Int, type: String = "renewed", more: String = "", at seconds: Int64? = nil,
        by secrets: [WebhookSecret]? = nil
    ) -> WebhookDelivery {
        WebhookDelivery(
            id: "msg_torture_\(run)_\(number)", body: Array(text(number, type, more).utf8)
        )
        .signed(at: seconds ?? self.seconds, by: secrets ?? [secret])
    }

    /// The body, which is an event in the form of the log.
    private func text(_ number: Int, _ type: String, _ more: String) -> String {
        let time = Timestamp(milliseconds: at.milliseconds)
        return """
            {"type":"\(type)","timestamp":"\(time)","data":{"id":"evt_\(number + 1)",\
            "sequence":\(number + 1),"type":"\(type)","at":"\(time)","known_at":"\(time)",\
            "customer_id":"torture","customer_sequence":\(number + 1),"product_id":"pro.monthly",\
            "environment":"sandbox","cause":{"kind":"time"}}\(more)}
            """
    }
}

/// Returns the same bytes on each call.
private struct FixedBytes: RandomNumberGenerator {
    let value: UInt64

    mutating func next() -> UInt64 { value }
}
