import AppStoreClient
import AppStoreFormats
import Simulator
import Synchronization

/// A bug planted on purpose. A proof that does not find the bug proves nothing.
///
/// No such bug is in the server's program. Instead, the trial alters the data that a correct server
/// receives. So the server gives the answers of a server with the bug. For most bugs, documents are
/// changed and signed again. For a lost event, the event is deleted from the database.
package enum SabotageKind: String, Hashable, Sendable, CaseIterable {
    case ignoredOrderIDs = "ignored-order-ids"
    case lastArrivedRenewal = "last-arrived-renewal"
    case forgottenReversals = "forgotten-reversals"
    case eventLostAtCrash = "event-lost-at-crash"
    case absentMeansExpired = "absent-means-expired"
    case ignoredCancellations = "ignored-cancellations"

    package var summary: String {
        switch self {
        case .ignoredOrderIDs: "One renewal under two transaction ids counts twice."
        case .lastArrivedRenewal: "The renewal info that arrived last counts."
        case .forgottenReversals: "A reversed refund stays a refund."
        case .eventLostAtCrash: "An event is not written if the server crashes."
        case .absentMeansExpired: "404 is treated as the end of a subscription."
        case .ignoredCancellations: "The cancellation dates of older documents are ignored."
        }
    }
}

final class Sabotage: Sendable {
    let kind: SabotageKind
    private let authority: SigningAuthority
    /// The fields of each refund that was seen, by transaction id.
    private let refunds = Mutex<[String: [JSON.Member]]>([:])

    init(_ kind: SabotageKind, _ authority: SigningAuthority) {
        self.kind = kind
        self.authority = authority
    }

    /// Returns a notification's body as a server with the bug would read it.
    func altered(_ body: [UInt8], at now: Int64) -> [UInt8] {
        guard let json = try? JSON(parsing: body) else { return body }
        return altered(json, at: now).bytes
    }

    func altered(answer body: [UInt8], at now: Int64) -> [UInt8] {
        altered(body, at: now)
    }

    /// Alters every signed document within a value, at any depth.
    private func altered(_ json: JSON, at now: Int64) -> JSON {
        switch json {
        case .object(let members):
            .object(
                members.filter { !isIgnored($0.key) }
                    .map { .init($0.key, altered($0.value, at: now)) })
        case .array(let values): .array(values.map { altered($0, at: now) })
        case .string(let text): .string(altered(document: text, at: now))
        case .null, .bool, .integer, .decimal: json
        }
    }

    private func isIgnored(_ key: String) -> Bool {
        kind == .ignoredCancellations && key.hasPrefix("cancellation_date")
    }

    /// Returns an app receipt, in Base64, as a server with the bug would read it.
    func altered(receipt text: String) -> String {
        guard kind == .ignoredCancellations, let receipts = try? authority.receipts,
            let file = ReceiptText.bytes(of: text), var receipt = try? receipts.receipt(in: file)
        else { return text }
        for index in receipt.purchases.indices {
            receipt.purchases[index].attributes.removeAll {
                $0.number == InAppReceipt.Field.cancelled.rawValue
            }
        }
        let again = try? receipts.sign(receipt, digest: .sha256)
        return again.map { ReceiptText.text(of: $0) } ?? text
    }

    /// Returns a signed document as a server with the bug would read it. Returns other text
    /// unchanged.
    func altered(document text: String, at now: Int64) -> String {
        // A document that the App Store did not sign must not become valid because it is signed
        // again.
        guard text.utf8.count > 200, let bytes = CompactJWS(text)?.payload,
            let payload = try? JSON(parsing: bytes), (try? authority.sign(payload)) == text
        else { return text }
        var new = altered(payload, at: now)
        if payload["transactionId"] != nil { alter(transaction: &new) }
        if payload["autoRenewStatus"] != nil, kind == .lastArrivedRenewal {
            new = new.with("signedDate", .integer(now))
        }
        guard new != payload else { return text }
        return (try? authority.sign(new)) ?? text
    }

    private func alter(transaction: inout JSON) {
        switch kind {
        case .ignoredOrderIDs: transaction = transaction.with("webOrderLineItemId", nil)
        case .forgottenReversals:
            let id = transaction["transactionId"]?.string ?? ""
            let fields = (transaction.members ?? []).filter { $0.key.hasPrefix("revocation") }
            let remembered = refunds.withLock { refunds in
                if !fields.isEmpty { refunds[id] = fields }
                return refunds[id] ?? []
            }
            for field in remembered { transaction = transaction.with(field.key, field.value) }
        case .lastArrivedRenewal, .eventLostAtCrash, .absentMeansExpired, .ignoredCancellations:
            break
        }
    }

    /// The number of attempts to get a good response despite faults.
    private static let attemptsMax = 30

    /// The response that a server would act on if it treated 404 as the end of a subscription.
    func expired(
        _ request: AppStoreRequest, _ environment: SimulatedEnvironment,
        _ simulator: AppStoreSimulator
    ) async throws -> DirectAPIResponse? {
        for _ in 0..<Self.attemptsMax {
            let answer = await simulator.callAPI(
                request.method, request.path, query: request.query,
                authorization: request.authorization, body: [], in: environment)
            guard answer.status == 200 else { continue }
            let ended = try ended(JSON(parsing: answer.body), at: simulator.clock.milliseconds)
            return DirectAPIResponse(status: 200, body: ended.bytes)
        }
        return nil
    }

    private func ended(_ json: JSON, at now: Int64) throws -> JSON {
        switch json {
        case .object(let members):
            return .object(try members.map { .init($0.key, try ended($0.value, at: now)) })
        case .array(let values): return .array(try values.map { try ended($0, at: now) })
        case .string(let text):
            guard text.utf8.count > 200, let bytes = CompactJWS(text)?.payload else { return json }
            var payload = try JSON(parsing: bytes)
            if payload["autoRenewStatus"] != nil {
                payload = payload.with("autoRenewStatus", 0).with("expirationIntent", 1)
                    .with("isInBillingRetryPeriod", nil).with("gracePeriodExpiresDate", nil)
            } else if let expires = payload["expiresDate"]?.integer {
                let began = payload["purchaseDate"]?.integer ?? 0
                payload = payload.with("expiresDate", .integer(max(began, min(expires, now))))
            }
            return .string(try authority.sign(payload))
        case .null, .bool, .integer, .decimal: return json
        }
    }
}

extension JSON {
    /// A copy with another value for a key, or without the key.
    fileprivate func with(_ key: String, _ value: JSON?) -> JSON {
        guard case .object(var members) = self else { return self }
        members.removeAll { $0.key == key }
        if let value { members.append(Member(key, value)) }
        return .object(members)
    }
}
