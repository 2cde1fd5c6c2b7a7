import AppStoreFormats
import AppStoreTrust
import Signing
import Testing

@Suite struct NotificationTests {
    private func outcome(_ payload: JSON) async throws -> NotificationOutcome {
        let jws = try Authority.shared.get().signer().jws(payload)
        return try await Cast.verifier().notification(jws, for: Cast.app, at: Cast.now)
    }

    /// The result for a notification whose inner documents are not signed, so that only its outer
    /// signature is verified.
    private func outcome(
        transaction: JSON?, renewal: JSON?, environment: String = "Production"
    ) async throws -> NotificationOutcome {
        let stranger = try Authority().signer()
        let part = Cast.part(
            environment: environment,
            [
                ("signedTransactionInfo", try transaction.map { .string(try stranger.text($0)) }),
                ("signedRenewalInfo", try renewal.map { .string(try stranger.text($0)) }),
            ])
        return try await outcome(Cast.notification("data", part))
    }

    @Test func `a notification contains its transaction and renewal information`() async throws {
        let contents = try await outcome(
            transaction: Cast.transaction(), renewal: Cast.renewal()
        ).contents
        #expect(contents?.notification.payload.notificationUUID == "n-1")
        #expect(contents?.transaction?.payload.transactionId == "1001")
        #expect(contents?.renewal?.payload.originalTransactionId == "1000")
        #expect(contents?.appTransaction == nil)
    }

    @Test func `an inner document without a date gets the date of the notification`() async throws {
        let contents = try await outcome(
            transaction: Cast.transaction(signed: nil), renewal: Cast.renewal(signed: .year2025)
        ).contents
        #expect(contents?.transaction?.signedAt == Cast.now)
        #expect(contents?.renewal?.signedAt == Moment.year2025.onWire)
    }

    @Test(
        arguments: [
            (Cast.transaction(bundle: "com.example.wrong"), nil, Refusal.Reason.wrongBundle),
            (Cast.transaction(environment: "Sandbox"), nil, .wrongEnvironment),
            (Cast.transaction(environment: "Xcode"), nil, .environmentNeverTrusted),
            (nil, Cast.renewal(environment: "Sandbox"), .wrongEnvironment),
        ] as [(JSON?, JSON?, Refusal.Reason)])
    func `an inner document of another app or environment makes the notification invalid`(
        transaction: JSON?, renewal: JSON?, reason: Refusal.Reason
    ) async throws {
        let refusal = try await outcome(transaction: transaction, renewal: renewal).refusal
        #expect(refusal?.reason == reason)
        #expect(refusal?.subject == (renewal == nil ? .transactionWithin : .renewalWithin))
    }

    @Test(
        arguments: [
            (Cast.transaction(bundle: nil), nil), (Cast.transaction(environment: nil), nil),
            ([1], nil), (nil, Cast.renewal(environment: nil)), (nil, "text"),
        ] as [(JSON?, JSON?)])
    func `an inner document of an unknown form is skipped and reported`(
        transaction: JSON?, renewal: JSON?
    ) async throws {
        let contents = try await outcome(transaction: transaction, renewal: renewal).contents
        #expect(contents?.transaction == nil && contents?.renewal == nil)
        let subject: Refusal.Subject = renewal == nil ? .transactionWithin : .renewalWithin
        #expect(contents?.unread.map(\.subject) == [subject])
    }

    @Test func `renewal information of another purchase is skipped`() async throws {
        let contents = try await outcome(
            transaction: Cast.transaction(), renewal: Cast.renewal(original: "2000")
        ).contents
        #expect(contents?.transaction != nil)
        #expect(contents?.renewal == nil)
        let alone = try await outcome(transaction: nil, renewal: Cast.renewal(original: "2000"))
        #expect(alone.contents?.renewal != nil)
    }

    @Test(
        arguments: [
            (Cast.notification("data", Cast.part()), nil),
            (Cast.notification("summary", Cast.part()), nil),
            (Cast.notification("appData", Cast.part()), nil),
            (Cast.notification("data", Cast.part(bundle: "x")), .wrongBundle),
            (Cast.notification("summary", Cast.part(bundle: "x")), .wrongBundle),
            (Cast.notification("appData", Cast.part(bundle: "x")), .wrongBundle),
            (Cast.notification("data", Cast.part(environment: "Xcode")), .environmentNeverTrusted),
            (Cast.notification("data", Cast.part(environment: nil)), .fieldMissing),
            (Cast.notification("data", Cast.part(appAppleID: 1235)), .wrongAppAppleID),
            (Cast.notification("data", Cast.part(appAppleID: nil)), .wrongAppAppleID),
            (Cast.notification("data", Cast.part(environment: "Sandbox", appAppleID: 1235)), nil),
            (Cast.notification("", Cast.part()), nil),
            (Cast.notification("", Cast.part(bundle: "x")), .wrongBundle),
            (Cast.notification("", Cast.part(environment: "Xcode")), .environmentNeverTrusted),
            (Cast.notification("", Cast.part(appAppleID: 1235)), .wrongAppAppleID),
            (Cast.notification("", [:]), nil), (Cast.notification("unclaimInfo", [:]), nil),
            (Cast.notification("unclaimInfo", Cast.part(bundle: "x")), .wrongBundle),
            (Cast.notification("", ["info": Cast.part(bundle: "x")]), .wrongBundle),
            (Cast.notification("", [["info": [Cast.part(bundle: "x")]]]), .wrongBundle),
            (Cast.notification("", Cast.part(environment: "Staging")), nil),
            (Cast.transaction(), .fieldMissing), (Cast.renewal(), .fieldMissing),
        ] as [(JSON, Refusal.Reason?)])
    func `each part of a notification that names an app must name the expected app`(
        payload: JSON, reason: Refusal.Reason?
    ) async throws {
        let outcome = try await outcome(payload)
        #expect(outcome.refusal?.reason == reason)
        #expect((outcome.contents == nil) == (reason != nil))
    }

    @Test func `if a known part names the app, an unknown part may name another app`()
        async throws
    {
        let members =
            (Cast.notification("data", Cast.part()).members ?? [])
            + [JSON.Member("clip", Cast.part(bundle: "com.example.garden.clip"))]
        #expect(try await outcome(.object(members)).contents?.unread == [])
    }

    @Test func `if only a nested signed text names an app, this app must be the expected app`()
        async throws
    {
        let stranger = try Authority().signer()
        for (bundle, reason) in [(Cast.bundleID, nil), ("x", Refusal.Reason.wrongBundle)] {
            let inner = JSON.string(try stranger.text(Cast.transaction(bundle: bundle)))
            let outcome = try await outcome(Cast.notification("", ["signedInfo": inner]))
            #expect(outcome.refusal?.reason == reason)
        }
    }

    @Test func `a notification that names two environments is refused`() async throws {
        let members =
            (Cast.notification("data", Cast.part()).members ?? [])
            + [JSON.Member("summary", Cast.part(environment: "Sandbox"))]
        #expect(try await outcome(.object(members)).refusal?.reason == .wrongEnvironment)
    }

    @Test func `an external purchase token of the sandbox is recognised by its prefix`()
        async throws
    {
        for (id, environment) in [("SANDBOX_1", StoreEnvironment.sandbox), ("1", .production)] {
            let token = Cast.part(environment: nil, [("externalPurchaseId", .string(id))])
            let contents = try await outcome(
                Cast.notification("externalPurchaseToken", token)
            ).contents
            #expect(contents?.notification.environment == environment)
        }
    }

    @Test func `an app transaction within a notification is verified`() async throws {
        let stranger = try Authority().signer()
        for (id, isGood) in [(Cast.appAppleID, true), (1235, false)] {
            let inner = try stranger.text(Cast.appTransaction(appAppleID: id))
            let part = Cast.part([("signedAppTransactionInfo", .string(inner))])
            let outcome = try await outcome(Cast.notification("appData", part))
            #expect((outcome.contents?.appTransaction != nil) == isGood)
            #expect(outcome.refusal?.subject == (isGood ? nil : .appTransactionWithin))
        }
    }
}
