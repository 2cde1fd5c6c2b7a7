import Engine
import Ledger
import Testing

@testable import Program

/// What the rows of vendors' exports mean.
@Suite struct VendorExportTests {
    /// The header of RevenueCat's export, version 5.
    static let header = """
        rc_original_app_user_id,rc_last_seen_app_user_id_alias,country,country_source,\
        product_identifier,product_display_name,product_duration,start_time,end_time,\
        grace_period_end_time,effective_end_time,store,is_auto_renewable,is_trial_period,\
        is_in_intro_offer_period,is_sandbox,price_in_usd,purchase_price_in_usd,\
        takehome_percentage,tax_percentage,commission_percentage,store_transaction_id,\
        original_store_transaction_id,refunded_at,unsubscribe_detected_at,\
        billing_issues_detected_at,purchased_currency,price_in_purchased_currency,\
        purchase_price_in_purchased_currency,entitlement_identifiers,renewal_number,\
        is_trial_conversion,presented_offering,ownership_type,reserved_subscriber_attributes,\
        custom_subscriber_attributes,platform,experiment_id,experiment_variant,updated_at,offer,\
        offer_type,first_seen_time,auto_resume_time
        """.split(separator: ",").map(String.init)

    private static func row(
        _ kind: ImportKind, _ header: [String], _ values: [String: String]
    ) throws -> ImportRow {
        try ImportColumns(kind, first: header, in: .production)
            .row(.fields(header.map { values[$0] ?? "" }))
    }

    private static let purchase = [
        "rc_original_app_user_id": "anna", "rc_last_seen_app_user_id_alias": "anna",
        "store": "app_store", "is_sandbox": "false", "store_transaction_id": "2001",
        "original_store_transaction_id": "2000", "presented_offering": "paywall",
        "first_seen_time": "2024-05-01 8:00:00", "updated_at": "2025-01-01 00:00:00",
    ]

    private static func row(_ more: [String: String]) throws -> ImportRow {
        try row(.revenueCat, header, purchase.merging(more) { _, more in more })
    }

    @Test func `a row of RevenueCat's export has a purchase, a placement and a first-seen time`()
        throws
    {
        #expect(Self.header.count == 44)
        let row = try Self.row([:])
        #expect(row.evidence == .number("2000", in: .production))
        #expect(row.details.sale == ImportedDetails.Sale("2001", at: "paywall"))
        #expect(row.details.firstSeenAt == Instant("2024-05-01T08:00:00.000Z"))
        #expect(row.details.attributes.isEmpty && row.defects.isEmpty)
    }

    // MARK: - Attributes

    private static let bird = AttributeChange(
        name: "bird", value: "owl", updatedAt: Instant(milliseconds: 1_700_000_000_000))

    /// A cell with attributes, and the first change that follows from it; nil if it is unreadable.
    static let cells: [(cell: String, change: AttributeChange?)] = [
        (#"{"bird":{"value":"owl","updated_at_ms":1700000000000}}"#, bird),
        (#""{"bird":{"value":"owl","updated_at_ms":1700000000000}}""#, bird),
        (#""{""bird"":{""value"":""owl"",""updated_at_ms"":1700000000000}}""#, bird),
        (
            #"{"bird":{"value":"","updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: "", updatedAt: bird.updatedAt)
        ),
        (
            #"{"bird":{"value":null,"updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: nil, updatedAt: bird.updatedAt)
        ),
        (
            #"{"bird":{"value":"owl"}}"#,
            AttributeChange(
                name: "bird", value: "owl", updatedAt: Instant("2025-01-01T00:00:00.000Z"))
        ),
        (
            #"{"bird":{"updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: nil, updatedAt: bird.updatedAt)
        ),
        (
            #"{"bird":null}"#,
            AttributeChange(
                name: "bird", value: nil, updatedAt: Instant("2025-01-01T00:00:00.000Z"))
        ),
        (
            #"{"bird":{"value":7,"updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: "7", updatedAt: bird.updatedAt)
        ),
        (
            #"{"bird":{"value":1.50,"updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: "1.50", updatedAt: bird.updatedAt)
        ),
        (
            #"{"bird":{"value":true,"updated_at_ms":1700000000000}}"#,
            AttributeChange(name: "bird", value: "true", updatedAt: bird.updatedAt)
        ),
        ("{'bird': 1}", nil), ("[1]", nil), ("owl", nil),
    ]

    /// Attributes whose value has an unknown form.
    @Test(arguments: [
        #""owl""#, "7", "true", "[1]", #"{"value":["owl"],"updated_at_ms":1700000000000}"#,
        #"{"value":{"a":1},"updated_at_ms":1700000000000}"#,
    ])
    func `an attribute of an unknown form is reported, and is not changed`(
        form: String
    ) throws {
        let row = try Self.row([
            "custom_subscriber_attributes":
                #"{"song":\#(form),"bird":{"value":"owl","updated_at_ms":1700000000000}}"#
        ])
        #expect(row.details.attributes == [Self.bird])
        #expect(row.defects.count == 1 && row.defects[0].contains("song"), "\(row.defects)")
    }

    @Test func `a first-seen time before the App Store opened is omitted and reported`() throws {
        let rows = try ["1970-01-01 00:00:00", "2008-07-09 23:59:59", "2008-07-10 00:00:00"].map {
            try Self.row(["first_seen_time": $0])
        }
        let opening = Instant("2008-07-10T00:00:00.000Z")
        #expect(rows.map(\.details.firstSeenAt) == [nil, nil, opening])
        #expect(rows.map(\.defects.count) == [1, 1, 0])
        #expect(rows[0].defects.first?.contains("1970-01-01") == true)
        let event = try Self.row(
            .adapty, Self.adaptyHeader,
            ["original_transaction_id": "2000", "install_date": "1970-01-01T00:00:00Z"])
        #expect(event.details.firstSeenAt == nil && event.defects.count == 1)
    }

    @Test(arguments: cells.indices)
    func `attributes keep the time at which they were set, in every format of the cell`(
        number: Int
    ) throws {
        let (cell, change) = Self.cells[number]
        for column in ["reserved_subscriber_attributes", "custom_subscriber_attributes"] {
            let row = try Self.row([column: cell])
            #expect(row.evidence == .number("2000", in: .production))
            #expect(row.details.attributes == (change.map { [$0] } ?? []))
            #expect(row.defects.count == (change == nil ? 1 : 0))
            #expect(row.defects.allSatisfy { $0.contains(column) })
        }
    }

    @Test func `an attribute without a known time is omitted and reported`() throws {
        let row = try Self.row([
            "custom_subscriber_attributes": #"{"bird":{"value":"owl"}}"#, "updated_at": "",
        ])
        #expect(row.details.attributes.isEmpty)
        #expect(row.defects.first?.contains("updated_at_ms") == true)
    }

    // MARK: - Grants

    private static func grant(_ more: [String: String]) throws -> ImportRow {
        try row(
            [
                "store": "promotional", "original_store_transaction_id": "g1",
                "store_transaction_id": "g1", "product_identifier": "rc_promo_pro_monthly",
                "start_time": "2026-11-01 00:00:00", "end_time": "2026-12-01 00:00:00",
                "entitlement_identifiers": "", "presented_offering": "",
            ].merging(more) { _, more in more })
    }

    private static let end = Instant("2026-12-01T00:00:00.000Z")

    /// The columns that differ, and the entitlement and the end that follow from them.
    static let grants: [(columns: [String: String], entitlement: String, end: Instant?)] = [
        ([:], "pro", end),
        (["product_identifier": "rc_promo_all_birds_three_month"], "all_birds", end),
        (["product_identifier": "rc_promo_gold"], "gold", end),
        (["entitlement_identifiers": #"["plus"]"#], "plus", end),
        (["entitlement_identifiers": "{plus}"], "plus", end),
        (["entitlement_identifiers": "['plus']"], "plus", end),
        (["entitlement_identifiers": #"["plus","pro"]"#], "pro", end),
        (["effective_end_time": "2026-11-09 00:00:00"], "pro", Instant("2026-11-09T00:00:00.000Z")),
        (["product_identifier": "rc_promo_pro_lifetime"], "pro", end),
        (lifetime.merging(["end_time": ""]) { $1 }, "pro", nil),
        (lifetime.merging(["end_time": "2226-11-01 00:00:00"]) { $1 }, "pro", nil),
        (
            lifetime.merging(["effective_end_time": "2026-11-09 00:00:00"]) { $1 }, "pro",
            Instant("2026-11-09T00:00:00.000Z")
        ),
    ]

    private static let lifetime = [
        "product_identifier": "rc_promo_pro_lifetime", "end_time": "2226-11-01 00:00:00",
    ]

    @Test(arguments: grants.indices)
    func `a promotional row is a grant of the entitlement, with the end of its access`(
        number: Int
    ) throws {
        let (columns, entitlement, end) = Self.grants[number]
        let expected = ImportedGrant(
            EntitlementID(rawValue: entitlement), from: Instant(milliseconds: 1_793_491_200_000),
            until: end, key: "g1")
        let row = try Self.grant(columns)
        #expect(row.evidence == .grant(expected, in: .production))
        #expect(row.details.sale == nil)
    }

    @Test func `a grant without an end or a beginning is refused, and never becomes endless`() {
        for columns in [
            ["end_time": ""], ["end_time": "soon"], ["start_time": ""],
            ["product_identifier": ""],
        ] {
            let failure = #expect(throws: UnusableRow.self) { try Self.grant(columns) }
            #expect(failure?.reason.contains("by hand") == true, "\(columns)")
        }
    }

    @Test(arguments: ["yearly", "lifetime"])
    func `a revoked grant is not imported, and the reason names the date of the revocation`(
        duration: String
    ) throws {
        let failure = #expect(throws: UnusableRow.self) {
            try Self.grant([
                "product_identifier": "rc_promo_pro_\(duration)",
                "refunded_at": "2026-11-09 00:00:00", "end_time": "2226-11-01 00:00:00",
            ])
        }
        #expect(failure?.reason.contains("2026-11-09") == true)
        #expect(failure?.reason.contains("by hand") == true)
    }

    @Test(arguments: ["effective_end_time", "end_time", "start_time", "refunded_at", "is_sandbox"])
    func `a row is refused if a cell that decides about its grant is unreadable`(
        column: String
    ) throws {
        for duration in ["monthly", "lifetime"] {
            let failure = #expect(throws: UnusableRow.self) {
                try Self.grant([
                    "product_identifier": "rc_promo_pro_\(duration)", column: "next week",
                ])
            }
            let reason = failure?.reason ?? ""
            #expect(reason.contains(column) && reason.contains("“next week”"), "\(reason)")
        }
    }

    @Test(arguments: [
        ("TRUE", Environment.sandbox), ("t", .sandbox), ("1", .sandbox), ("False", .production),
        ("F", .production), ("0", .production), ("", .production),
    ])
    func `the environment of a row is read from each form of a boolean value`(
        cell: String, environment: Environment
    ) throws {
        #expect(
            try Self.row(["is_sandbox": cell]).evidence == .number("2000", in: environment))
        #expect(throws: UnusableRow.self) { try Self.row(["is_sandbox": "yes"]) }
    }

    @Test func `a grant without a transaction id has the same key in every export`() throws {
        let key = try [["updated_at": "2026-11-01 00:00:00"], ["renewal_number": "2"]].map {
            try Self.grant($0.merging(["store_transaction_id": ""]) { one, _ in one }).evidence
        }
        #expect(key[0] == key[1])
        let other = try Self.grant([
            "store_transaction_id": "", "rc_original_app_user_id": "ben",
        ])
        #expect(other.evidence != key[0])
    }

    // MARK: - Times

    static let times: [(text: String, moment: String?)] = [
        ("2026-11-01 00:00:00", "2026-11-01T00:00:00.000Z"),
        ("2026-11-01 9:05:07", "2026-11-01T09:05:07.000Z"),
        ("2026-11-01T09:05:07Z", "2026-11-01T09:05:07.000Z"),
        ("2026-11-01T09:05:07.25Z", "2026-11-01T09:05:07.250Z"),
        ("2026-11-01 09:05:07.123456 UTC", "2026-11-01T09:05:07.123Z"),
        ("2020-12-31T23:59:59-06:00", "2021-01-01T05:59:59.000Z"),
        ("2026-11-01T09:05:07.000000+0200", "2026-11-01T07:05:07.000Z"),
        ("2026-02-30 00:00:00", nil), ("2026-11-01", nil), ("2026-11-01 24:00:00", nil),
        ("1793491200", nil), ("", nil), ("2026-11-01 00:00:00 CET", nil),
    ]

    @Test(arguments: times.indices)
    func `the times of exports are read in each of their forms`(number: Int) {
        let (text, moment) = Self.times[number]
        #expect(Instant(exported: text)?.description == moment)
    }

    // MARK: - Adapty and Apphud

    private static let adaptyHeader = [
        "profile_id", "event_type", "event_datetime", "transaction_id", "original_transaction_id",
        "environment", "customer_user_id", "store", "product_id", "developer_id", "install_date",
        "idfv", "idfa", "attributes",
    ]

    @Test func `a row of Adapty's export uses the app's own user id, and never the profile id`()
        throws
    {
        let event = [
            "profile_id": "5f0c1d1e-8a4b-4f0e-9d43-0c6f1f0a7b21", "environment": "Sandbox",
            "transaction_id": "2001", "original_transaction_id": "2000", "store": "app_store",
            "developer_id": "paywall", "install_date": "2024-05-01T08:00:00Z", "idfv": "I-1",
            "event_datetime": "2025-01-01T00:00:00.000000+0000",
            "attributes": #"{"bird": "owl", "age": 7, "list": [1]}"#,
        ]
        let nobodys = try Self.row(.adapty, Self.adaptyHeader, event)
        #expect(nobodys.customer == nil && nobodys.alias == nil)
        #expect(nobodys.details.attributes.isEmpty)
        #expect(nobodys.evidence == .number("2000", in: .sandbox))
        let annas = try Self.row(
            .adapty, Self.adaptyHeader, event.merging(["customer_user_id": "anna"]) { $1 })
        #expect(annas.customer == "anna" && annas.alias == nil)
        #expect(annas.details.sale == ImportedDetails.Sale("2001", at: "paywall"))
        #expect(annas.details.firstSeenAt == Instant("2024-05-01T08:00:00.000Z"))
        let time = Instant("2025-01-01T00:00:00.000Z")
        #expect(
            annas.details.attributes == [
                AttributeChange(name: "bird", value: "owl", updatedAt: time),
                AttributeChange(name: "age", value: "7", updatedAt: time),
                AttributeChange(name: "$idfv", value: "I-1", updatedAt: time),
            ])
    }

    @Test func `a file in the format of Adapty's imports can also be read`() throws {
        let row = try Self.row(
            .adapty, ["user_id", "apple_original_transaction_id", "email"],
            ["user_id": "anna", "apple_original_transaction_id": "2000"])
        #expect(row.customer == "anna" && row.evidence == .number("2000", in: .production))
    }

    /// A user and an environment of Apphud's, and the customer and the environment here.
    static let users: [(user: String, name: String, customer: String?, environment: Environment)] =
        [
            ("anna", "production", "anna", .production), ("anon_7", "sandbox", nil, .sandbox),
            ("", "", nil, .production),
        ]

    @Test(arguments: users.indices)
    func `a row of Apphud's export has its user id, unless Apphud invented the id`(
        number: Int
    ) throws {
        let expected = Self.users[number]
        let row = try Self.row(
            .apphud, ["original_transaction_id", "store", "environment", "user_id"],
            [
                "original_transaction_id": "2000", "store": "app_store",
                "environment": expected.name, "user_id": expected.user,
            ])
        #expect(row.customer?.rawValue == expected.customer)
        #expect(row.evidence == .number("2000", in: expected.environment))
    }

    @Test(arguments: [ImportKind.adapty, .apphud])
    func `a row without a purchase of Apple's is refused with a remedy`(kind: ImportKind)
        throws
    {
        let header = ["original_transaction_id", "store", "environment", "user_id"]
        let rows: [(values: [String: String], reason: String)] = [
            (["user_id": "anna"], "grant it here"),
            (["user_id": "anna", "original_transaction_id": "t", "store": "play_store"], "Apple"),
            (
                ["user_id": "anna", "original_transaction_id": "1", "environment": "moon"],
                "production or sandbox"
            ),
        ]
        for (values, reason) in rows {
            let failure = #expect(throws: UnusableRow.self) {
                try Self.row(kind, header, values)
            }
            #expect(failure?.reason.contains(reason) == true, "\(values)")
        }
        #expect(throws: UnusableRow.self) {
            try ImportColumns(kind, first: ["user_id", "store"], in: .production)
        }
    }
}
