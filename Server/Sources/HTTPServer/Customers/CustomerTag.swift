import Engine
import Hummingbird
import PerennialContract

/// The entity tag of an answer about a customer (RFC 9110, section 8.8.3).
///
/// It covers everything but the time of the answer and the token, which change although nothing
/// has happened. So the tag is a weak one.
struct CustomerTag: Hashable {
    /// As it stands in the header, for example `W/"0f4c…"`.
    let text: String

    init(_ customer: Customer) throws {
        var content = customer
        content.asOf = Timestamp(milliseconds: 0)
        content.serverTime = nil
        content.token = nil
        text = "W/\"\(ContentTag.text(of: Array(try ContractEncoder().encode(content))))\""
    }

    func response(_ customer: Customer) throws -> Response {
        var response = try JSONResponse.ok(customer)
        response.headers[.eTag] = text
        return response
    }

    /// Whether a client that sends this `If-None-Match` has the answer already. Weak and strong
    /// forms of a tag are equal here (section 8.8.3.2).
    func isNamed(in header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { part in
            let named = part.filter { $0 != " " && $0 != "\t" }
            return named == "*" || Self.opaque(named) == Self.opaque(text)
        }
    }

    private static func opaque(_ tag: String) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    }
}
