import HTTPBasics
import PerennialContract

extension OpenAPI {
    /// The schemas of contract types, by name, in the order in which they are needed.
    struct Components: OpenAPISchemas {
        private(set) var schemas: [OpenAPIValue.Member] = []
        private var names: Set<String> = []

        /// Adds the schema of a type, and the schemas of the types in it.
        ///
        /// - Parameter isSent: whether clients send the type. Clients may leave out optional
        ///   members. The server sends every member, with null for a missing value.
        mutating func add(_ type: any Decodable.Type, isSent: Bool) throws {
            let name = Self.name(of: type)
            guard names.insert(name).inserted else { return }
            let shape = try ContractShape(of: type)
            schemas.append(.init(name, Self.schema(shape, name, isSent: isSent)))
            for member in shape.members { try add(member.form, isSent: isSent) }
        }

        private mutating func add(_ form: ContractShape.Form, isSent: Bool) throws {
            switch form {
            case .object(let type): try add(type, isSent: isSent)
            case .list(let element), .dictionary(let element): try add(element, isSent: isSent)
            case .word(let type): add(Self.name(of: type), Self.schema(of: type))
            case .time: add("Timestamp", Self.timestamp)
            case .text, .integer, .number, .flag, .anything: break
            }
        }

        private mutating func add(_ name: String, _ schema: OpenAPIValue) {
            if names.insert(name).inserted { schemas.append(.init(name, schema)) }
        }

        private static let timestamp = time.adding(["examples": ["2026-11-21T08:30:00.000Z"]])

        private static func schema(of word: any ContractWord.Type) -> OpenAPIValue {
            func known<Word: ContractWord>(_ type: Word.Type) -> [OpenAPIValue] {
                type.known.map { .text($0.rawValue) }
            }
            return text.adding(["examples": .list(known(word))])
        }

        private static func schema(
            _ shape: ContractShape, _ name: String, isSent: Bool
        ) -> OpenAPIValue {
            func isLeftOut(_ member: ContractShape.Member) -> Bool {
                let path = "\(name).\(member.name)"
                return member.isOptional && !requiredMembers.contains(path)
                    && (isSent || omittedMembers.contains(path))
            }
            let properties = shape.members.map { member in
                let isNullable = member.isOptional && !isLeftOut(member)
                let own = schema(of: member.form, isNullable: isNullable)
                return OpenAPIValue.Member(
                    member.name,
                    own.adding(memberNotes["\(name).\(member.name)"])
                        .adding(textLimits["\(name).\(member.name)"]))
            }
            return object(
                of: properties, mayLack: Set(shape.members.filter(isLeftOut).map(\.name)),
                description: typeNotes[name])
        }

        private static func schema(
            of form: ContractShape.Form, isNullable: Bool
        ) -> OpenAPIValue {
            switch form {
            case .text: plain("string", isNullable)
            case .integer: plain("integer", isNullable)
            case .number: plain("number", isNullable)
            case .flag: plain("boolean", isNullable)
            case .list(let element):
                plain("array", isNullable)
                    .adding(["items": schema(of: element, isNullable: false)])
            case .dictionary(let element):
                plain("object", isNullable)
                    .adding(["additionalProperties": schema(of: element, isNullable: false)])
            case .time: reference("Timestamp", isNullable)
            case .word(let type): reference(name(of: type), isNullable)
            case .object(let type): reference(name(of: type), isNullable)
            case .anything: .object([])
            }
        }

        private static func plain(_ type: String, _ isNullable: Bool) -> OpenAPIValue {
            ["type": isNullable ? [.text(type), "null"] : .text(type)]
        }

        private static func reference(_ name: String, _ isNullable: Bool) -> OpenAPIValue {
            isNullable ? orNull(reference(name)) : reference(name)
        }

        static func reference(_ type: any Decodable.Type) -> OpenAPIValue {
            reference(name(of: type))
        }

        private static func name(of type: Any.Type) -> String {
            nestedNames[
                String(reflecting: type).split(separator: ".").dropFirst()
                    .joined(separator: ".")] ?? String(describing: type)
        }

        /// The schema names of nested types whose own name would be unclear without the outer type.
        private static let nestedNames = [
            "History.Line": "HistoryLine", "CustomerList.Found": "FoundCustomer",
            "CustomerList.AppStore": "AppStoreSearch",
            "OfferList.Offer": "CustomerOffer", "TokenKeySet.Key": "TokenKey",
            "WalletStatement.Line": "WalletItem", "WalletStatement.Line.Kind": "WalletItemKind",
            "Forward.State": "ForwardState", "Webhook.Format": "WebhookFormat",
            "WebhookDelivery.State": "WebhookDeliveryState", "Offerings.Product": "OfferedProduct",
            "Offerings.Term": "OfferedTerm", "Offerings.Wallet": "WalletPermission",
            "DocumentList.Line": "ListedDocument", "SignedDocument.Refusal": "DocumentRefusal",
            "NotificationList.Line": "ReceivedNotification",
            "NotificationSummary.Hour": "NotificationHour",
            "StoreInquiries.Check": "StoreCheck",
            "ConfigurationPreview.Change": "AccessChange", "Subscription.Seat": "MemberSeat",
            "Subscription.Seats": "SeatCount",
        ]
    }
}
