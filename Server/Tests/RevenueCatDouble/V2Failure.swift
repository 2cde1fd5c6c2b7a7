import AppStoreFormats

/// An error of API version 2 (RevenueCat's page "REST API v2 Reference", Error Handling).
struct V2Failure: Error {
    let status: Int
    let type: String
    let message: String
    var param: String?
    var backoffMilliseconds: Int64?

    static let unauthenticated = V2Failure(
        status: 401, type: "authentication_error", message: "The API key is not valid.")
    static let forbidden = V2Failure(
        status: 403, type: "authorization_error",
        message: "The API key lacks the permission customer_information:customers:read.")
    static let unavailable = V2Failure(
        status: 503, type: "server_error", message: "The service is not available.")

    static func missing(_ param: String) -> Self {
        V2Failure(
            status: 404, type: "resource_missing", message: "The resource does not exist.",
            param: param)
    }

    static func parameter(_ param: String, _ message: String) -> Self {
        V2Failure(status: 400, type: "parameter_error", message: message, param: param)
    }

    static func tooManyRequests(milliseconds: Int64) -> Self {
        V2Failure(
            status: 429, type: "rate_limit_error", message: "Rate limit exceeded",
            backoffMilliseconds: milliseconds)
    }

    var answer: RevenueCatDouble.Answer {
        var members: [JSON.Member] = [
            .init("object", "error"), .init("type", .string(type)),
            .init("message", .string(message)),
            .init("retryable", .bool(status == 429 || status >= 500)),
            .init(
                "doc_url",
                .string("https://errors.rev.cat/" + type.replacing("_", with: "-"))),
        ]
        if let param { members.append(.init("param", .string(param))) }
        guard let milliseconds = backoffMilliseconds else {
            return .init(status, .object(members))
        }
        members.append(.init("backoff_ms", .integer(milliseconds)))
        let seconds = (milliseconds + 999) / 1000
        return .init(status, .object(members), headers: ["retry-after": "\(seconds)"])
    }
}
