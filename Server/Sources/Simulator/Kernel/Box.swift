/// One copy of a value for many holders: a million transactions refer to a few products. A box has
/// value semantics: no holder can change the value for the others.
indirect enum Box<Value: Sendable>: Sendable {
    case one(Value)

    init(_ value: Value) { self = .one(value) }

    var value: Value {
        switch self {
        case .one(let value): value
        }
    }
}

extension Box: Equatable where Value: Equatable {}
extension Box: Hashable where Value: Hashable {}
