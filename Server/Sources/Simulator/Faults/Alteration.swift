import AppStoreFormats

/// Values that a fault puts into a notification although they are untrue in the world, or unknown
/// in Apple's documentation. The signature is valid.
struct Alteration: Hashable, Sendable {
    static let none = Self(faults: [])

    let faults: [NotificationFault]

    /// Values that Apple may introduce in the future.
    enum Unknown {
        static let text = "SOMETHING_NEW"
        static let number: Int64 = 99
        static let field = JSON.Member("fieldOfTomorrow", ["value": 1])
    }

    func apply(to payload: inout NotificationPayload) {
        for fault in faults {
            switch fault {
            case .unknownType: payload.notificationType = .init(rawValue: Unknown.text)
            case .unknownSubtype: payload.subtype = .init(rawValue: Unknown.text)
            case .unknownStatus: payload.data?.status = .init(rawValue: Unknown.number)
            case .unknownValue:
                payload.unknown.append(Unknown.field)
                payload.data?.unknown.append(Unknown.field)
            default: break
            }
        }
    }

    func apply(to payload: inout TransactionPayload) {
        for fault in faults {
            switch fault {
            case .otherTransactionID:
                payload.transactionId = payload.transactionId.map(Self.other)
            case .unknownOfferType:
                payload.offerType = .init(rawValue: Unknown.number)
                payload.offerDiscountType = .init(rawValue: Unknown.text)
            case .unknownValue:
                payload.transactionReason = .init(rawValue: Unknown.text)
                payload.unknown.append(Unknown.field)
            default: break
            }
        }
    }

    func apply(to payload: inout RenewalPayload) {
        for fault in faults {
            switch fault {
            case .unknownOfferType where payload.offerType != nil:
                payload.offerType = .init(rawValue: Unknown.number)
                payload.offerDiscountType = .init(rawValue: Unknown.text)
            case .unknownValue: payload.unknown.append(Unknown.field)
            default: break
            }
        }
    }

    /// An id that no world assigns: the ids of worlds begin with 2 to 8.
    static func other(_ id: String) -> String { "9" + id.dropFirst() }
}
