import PerennialContract

@testable import Dashboard

extension Samples {
    /// An operator who has signed in and has access to several apps.
    var signedIn: Frame {
        var frame = frame
        frame.viewer.managesOperators = role == .admin
        frame.viewer.hasSession = true
        guard role == .admin else { return frame }
        frame.apps = [text("Birds"), text("Bees")]
        return frame
    }

    var operators: OperatorsPage {
        OperatorsPage(
            operators: [
                .init(
                    name: text("mira"), roles: [.init(app: nil, role: .admin)],
                    signedInAt: Self.now, isBlocked: false),
                .init(
                    name: text("ben"), roles: [.init(app: text("Birds"), role: .viewer)],
                    signedInAt: nil, isBlocked: true),
            ],
            links: [
                .init(
                    name: text("cleo"), roles: [.init(app: nil, role: .support)],
                    author: text("mira"), until: Self.now),
                .init(
                    name: text("mira"), roles: nil, author: text("cleo"), until: Self.now),
            ], apps: [text("Birds"), text("Bees")],
            made: .init(name: text("cleo"), url: text("https://store.example/links/00ff")))
    }

    var account: AccountPage {
        AccountPage(
            sessions: [
                .init(
                    address: text("192.0.2.7"), agent: text("Browser"), createdAt: Self.now,
                    usedAt: Self.now, isThis: true),
                .init(
                    address: "", agent: "", createdAt: Self.now, usedAt: Self.now, isThis: false),
            ], trouble: text("The two passwords differ."),
            passkeys: .possible(
                .init(
                    passkeys: [
                        .init(id: "AQID", name: text("Phone"), createdAt: Self.now, usedAt: nil),
                        .init(
                            id: "BAUG", name: text("Blue key"), createdAt: Self.now,
                            usedAt: Self.now),
                    ], codesLeft: 0, needsPassword: true, areRequired: false)),
            passkeyTrouble: text("Your password is wrong. Nothing was changed."))
    }

    var noPasskeys: AccountPage {
        AccountPage(
            sessions: [], passkeys: .impossible(origin: text("http://127.0.0.1:8080")))
    }

    var passkeyRequest: PasskeyForm.Request {
        PasskeyForm.Request(
            challenge: "AAAA", host: text("store.example"), operatorName: text("mira"),
            user: "BBBB", passkeys: ["AQID", "BAUG"])
    }

    func passkey(_ step: PasskeyPage.Step) -> PasskeyPage {
        PasskeyPage(
            host: text("store.example"), step: step, request: passkeyRequest,
            trouble: text("The signature of the passkey is wrong."))
    }

    var audit: AuditPage {
        AuditPage(
            entries: [
                AuditEntry(
                    auditID: "aud_1", at: Self.now, author: text("mira"), act: text("x.pause"),
                    environment: .sandbox, customerID: text("cleo"), subject: text("wh_1"),
                    before: [text("a"): text("b")], after: [text("a"): text("c")])
            ], next: text("1_2"))
    }

    func link(_ kind: LinkPage.Kind) -> LinkPage {
        LinkPage(
            host: text("store.example"), token: text("00ff"), kind: kind, name: text("mira"),
            trouble: text("The two passwords differ."))
    }
}
