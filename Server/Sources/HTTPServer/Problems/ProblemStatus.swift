import HTTPTypes
import PerennialContract

/// The HTTP status of each problem code. This is the only table.
///
/// A 5xx status means that the same request may succeed later; the App Store then sends its
/// notification again. A 4xx status means that it never will, with two exceptions: 429 means
/// later, and 408 means faster.
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
        .bodyTooSlow: .requestTimeout,
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
            preconditionFailure("\(code.rawValue) has no status. Add it to the table.")
        }
        return status
    }
}
