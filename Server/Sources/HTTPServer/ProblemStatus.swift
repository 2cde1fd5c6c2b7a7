import HTTPTypes
import PerennialContract

/// Which HTTP status goes with which code: the one table.
///
/// A status of 5xx means that the same request may be done later; the App Store then sends its
/// notification again. One of 4xx means that it never will be, but for 429: after a while.
enum ProblemStatus {
    static let retryAfterSeconds = 30

    static let table: [ProblemCode: HTTPResponse.Status] = [
        .keyMissing: .unauthorized,
        .keyUnknown: .unauthorized,
        .keyNotSecret: .forbidden,
        .currencyUnknown: .notFound,
        .amountNotPositive: .badRequest,
        .walletHasTooLittle: .conflict,
        .idempotencyKeyReused: .unprocessableContent,
        .contentUnknown: .notFound,
        .contentNotOpen: .forbidden,
        .contentLinkInvalid: .forbidden,
        .sandboxNotAllowed: .forbidden,
        .bodyNotJSON: .badRequest,
        .bodyNotUnderstood: .badRequest,
        .bodyTooLarge: .contentTooLarge,
        .bodyHasTooMany: .contentTooLarge,
        .cursorUnknown: .badRequest,
        .cursorOutdated: .gone,
        .limitOutOfRange: .badRequest,
        .environmentUnknown: .badRequest,
        .routeUnknown: .notFound,
        .methodNotAllowed: .methodNotAllowed,
        .requestNotUnderstood: .badRequest,
        .notificationNotTrusted: .unprocessableContent,
        .notificationForAnotherApp: .unprocessableContent,
        .notificationNotUnderstood: .badRequest,
        .notificationIncomplete: .unprocessableContent,
        .legacyOff: .unprocessableContent,
        .purchaseNotTrusted: .unprocessableContent,
        .purchaseForAnotherApp: .unprocessableContent,
        .purchaseNotUnderstood: .badRequest,
        .purchaseIncomplete: .unprocessableContent,
        .purchasesMissing: .badRequest,
        .renewalWithoutTransaction: .unprocessableContent,
        .purchaseBelongsToAnotherCustomer: .conflict,
        .documentBudgetSpent: .tooManyRequests,
        .customerIDMeaningless: .unprocessableContent,
        .customerProofMissing: .unauthorized,
        .customerProofNotValid: .unauthorized,
        .aliasUnknown: .notFound,
        .aliasIsFirst: .conflict,
        .purchaseUnknown: .notFound,
        .transferUnknown: .notFound,
        .transferSuperseded: .conflict,
        .entitlementUnknown: .notFound,
        .grantUnknown: .notFound,
        .grantWithoutTime: .unprocessableContent,
        .offersKeyMissing: .conflict,
        .offerUnknown: .notFound,
        .offerNotForCustomer: .conflict,
        .trustUndecided: .serviceUnavailable,
        .forwardNotAccepted: .serviceUnavailable,
        .forwardUnknown: .notFound,
        .stateUnknown: .badRequest,
        .serverBusy: .serviceUnavailable,
        .storageUnavailable: .serviceUnavailable,
        .appNotConfigured: .internalServerError,
        .serverNotReady: .serviceUnavailable,
        .serverFailed: .internalServerError,
    ]

    static func status(of code: ProblemCode) -> HTTPResponse.Status {
        guard let status = table[code] else {
            preconditionFailure("\(code.rawValue) has no status: add it to the table.")
        }
        return status
    }
}
