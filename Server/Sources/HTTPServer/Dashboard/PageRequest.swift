import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// A request for a page or an act, with the data that its page shows around the content.
struct PageRequest: Sendable {
    let request: Request
    let context: ServerContext
    let visit: Visit
    let environment: Ledger.Environment
    var frame: Frame
    let query: FormFields
    /// The details of the act for the audit.
    let audit = AuditDraft()
    /// Identifies a form of the page, so that a form that is sent twice is recognised. The server
    /// makes the key: ids of requests may come from the client, and may all be equal.
    let formKey = withUnsafeBytes(of: UInt128.random(in: .min ... .max)) { Hexadecimal.text($0) }

    /// The decoded value of a part of the path.
    func parameter(_ name: String) throws -> String {
        try RequestReader.parameter(name, called: name, in: context)
    }

    /// The customer in the path.
    var customer: CustomerID {
        get throws { CustomerID(rawValue: try parameter("id")) }
    }

    /// The webhook in the path.
    var webhook: WebhookID {
        get throws { WebhookID(rawValue: try parameter("webhook_id")) }
    }

    /// The cursor of a page of a list; nil for the first page.
    var cursor: String? { query["cursor"] }
}

/// The result of an act.
enum ActResult {
    /// Another page, which shows a notice.
    case done(DashboardNotice?, DashboardPath)
    /// A page instead of the redirect. For example, the page asks for a confirmation, or shows a
    /// secret once.
    case page(String)
    case response(Response)
}

extension Request {
    /// The value of a cookie.
    package func cookie(_ name: String) -> String? {
        let cookies = headers[.cookie]?.split(separator: ";") ?? []
        return cookies.lazy.map { $0.drop { $0 == " " } }.first { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }
}
