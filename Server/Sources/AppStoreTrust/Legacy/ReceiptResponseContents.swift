import AppStoreFormats

/// The response of verifyReceipt to our own request, by the style of the receipt that was sent. Its
/// `signedAt` is the time of the request.
package enum ReceiptResponseContents: Hashable, Sendable {
    /// A response for an app receipt, with the new receipt that it contained, if any.
    case app(Verified<VerifyReceiptResponse>, receipt: Verified<AppReceipt>?)
    case transaction(Verified<VerifyReceiptTransactionResponse>)
}

/// The result of checking a response.
package enum ReceiptResponseOutcome: Hashable, Sendable {
    case verified(ReceiptResponseContents)
    case refused(Refusal)
}

extension Verifier {
    /// Checks a response of verifyReceipt. Responses are not signed: only the connection shows that
    /// a response comes from Apple. So pass only responses to our own requests. The app and
    /// environment that the response names are still compared.
    ///
    /// - Parameter environment: the environment that was asked.
    package func receiptResponse(
        _ body: [UInt8], for app: AppIdentity, in environment: StoreEnvironment,
        at now: AppStoreDate
    ) async -> ReceiptResponseOutcome {
        do throws(Refusal) {
            let json = try Self.json(body)
            let environment = try app.requireEnvironment(environment)
            let digest = DocumentDigest(unsigned: body)
            if let answer = VerifyReceiptTransactionResponse(json: json),
                let receipt = answer.receipt, receipt.bundleID != nil
            {
                try Self.requireValid(answer.status)
                try app.requireBundle(receipt.bundleID)
                return .verified(
                    .transaction(
                        Verified(
                            payload: answer, environment: environment, signedAt: now,
                            digest: digest)))
            }
            guard let answer = VerifyReceiptResponse(json: json) else {
                throw Refusal(.payloadUnreadable, expected: "a JSON object", found: "another value")
            }
            try Self.requireValid(answer.status)
            try app.requireBundle(answer.receipt?.bundleID)
            if let told = answer.environment { try Self.require(told, as: environment) }
            let receipt = await appReceipt(
                in: answer.latestReceipt, for: app, in: environment, at: now)
            return .verified(
                .app(
                    Verified(
                        payload: answer, environment: environment,
                        signedAt: answer.receipt?.requested ?? now, digest: digest),
                    receipt: receipt))
        } catch {
            return .refused(error)
        }
    }

    private static func json(_ body: [UInt8]) throws(Refusal) -> JSON {
        do throws(JSONFailure) { return try JSON(parsing: body) } catch {
            throw Refusal(
                .payloadUnreadable, expected: "a JSON object", found: "not readable (\(error))")
        }
    }

    private static func requireValid(_ status: VerifyReceiptStatus?) throws(Refusal) {
        guard status == .valid || status == .expired else {
            throw Refusal(
                .payloadUnreadable, expected: "a response of status 0 or 21006",
                found: "of status \(status.map { "\($0)" } ?? "none")")
        }
    }

    private static func require(
        _ told: StoreEnvironment, as environment: StoreEnvironment
    ) throws(Refusal) {
        guard told == environment else {
            throw Refusal(
                .wrongEnvironment, expected: environment.rawValue, found: told.rawValue)
        }
    }
}
