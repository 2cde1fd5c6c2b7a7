import AppStoreFormats

/// An error of the App Store Connect API, whose responses follow JSON:API.
struct ConnectError: Error, Hashable, Sendable {
    let status: Int
    let code: String
    let title: String
    let detail: String
    /// The query parameter that the error is about. Nil if the error is not about a parameter.
    var parameter: String?

    var json: JSON {
        var members: [JSON.Member] = [
            .init("id", .string(id)), .init("status", .string(String(status))),
            .init("code", .string(code)), .init("title", .string(title)),
            .init("detail", .string(detail)),
        ]
        if let parameter { members.append(.init("source", ["parameter": .string(parameter)])) }
        return ["errors": [.object(members)]]
    }

    /// The error's id, derived from the status and the detail. Apple's ids are random, but this id
    /// is the same for the same error.
    private var id: String {
        var random = SplitMix64(seed: detail.utf8.reduce(UInt64(status)) { $0 &* 31 &+ UInt64($1) })
        return random.uuid()
    }
}

extension ConnectError {
    static let unauthorized = Self(
        status: 401, code: "NOT_AUTHORIZED",
        title: "Authentication credentials are missing or invalid.",
        detail: "Provide a properly configured and signed bearer token, and make sure that it has "
            + "not expired. Learn more about Generating Tokens for API Requests "
            + "https://developer.apple.com/go/?id=api-generating-tokens")

    /// The response if a report would be empty.
    static let noSales = notFound("There were no sales for the date specified.")

    static let notYetAvailable = notFound(
        "Report is not available yet. Daily reports for the Americas are available by 5 am "
            + "Pacific Time; Japan, Australia, and New Zealand by 5 am Japan Standard Time; and "
            + "5 am Central European Time for all other territories.")

    static let noLongerAvailable = Self(
        status: 410, code: "GONE", title: "The requested resource is no longer available",
        detail: "Report is no longer available. Daily and weekly reports are kept for a year.")

    static let notAcceptable = Self(
        status: 406, code: "NOT_ACCEPTABLE",
        title: "The requested media type is not supported",
        detail: "The Accept header must allow application/a-gzip.")

    static let outage = Self(
        status: 503, code: "SERVICE_UNAVAILABLE", title: "The service is unavailable",
        detail: "The service is temporarily unavailable. Try again later.")

    static let internalError = Self(
        status: 500, code: "UNEXPECTED_ERROR", title: "An unexpected error occurred.",
        detail: "An unexpected error occurred on the server side.")

    private static func notFound(_ detail: String) -> Self {
        Self(
            status: 404, code: "NOT_FOUND", title: "The specified resource does not exist",
            detail: detail)
    }

    static func invalidParameter(_ filter: String, _ detail: String) -> Self {
        Self(
            status: 400, code: "PARAMETER_ERROR.INVALID",
            title: "A parameter has an invalid value", detail: detail,
            parameter: "filter[\(filter)]")
    }

    static func missingParameter(_ filter: String) -> Self {
        Self(
            status: 400, code: "PARAMETER_ERROR.REQUIRED",
            title: "A required parameter is missing",
            detail: "The parameter filter[\(filter)] is required but was not provided.",
            parameter: "filter[\(filter)]")
    }

    static func illegalParameter(_ name: String) -> Self {
        Self(
            status: 400, code: "PARAMETER_ERROR.ILLEGAL",
            title: "A parameter is not allowed",
            detail: "The parameter \(name) can not be used with this request.", parameter: name)
    }
}
