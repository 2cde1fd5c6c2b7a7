import Engine
import Hummingbird
import NIOCore
import PerennialContract

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Request {
    /// Reads the whole body. Throws a problem if the body is larger than allowed. If the header
    /// already says so, nothing is read. ``ConnectionHandler`` limits how long the body may take.
    func bytes(max bytesMax: Int) async throws -> ByteBuffer {
        if let length = headers[.contentLength].flatMap(Int.init), length > bytesMax {
            throw ProblemError(.bodyTooLarge(bytesMax: bytesMax))
        }
        var whole = ByteBuffer()
        do {
            for try await part in body {
                guard whole.readableBytes + part.readableBytes <= bytesMax else {
                    throw ProblemError(.bodyTooLarge(bytesMax: bytesMax))
                }
                // Most bodies arrive in one part, which is not copied.
                if whole.readableBytes == 0 {
                    whole = part
                } else {
                    whole.writeImmutableBuffer(part)
                }
            }
        } catch let refused as ProblemError {
            throw refused
        } catch let slow as BodyTooSlow {
            throw ProblemError(.bodyTooSlow(secondsMax: slow.secondsMax))
        } catch {
            // The client has disconnected or violates HTTP, so nobody will read the response.
            throw ProblemError(.bodyCutOff, operatorDetail: "\(error)")
        }
        return whole
    }

    /// The maximum number of values in a JSON body, counted by commas.
    private static let valuesMax = 20_000

    /// Decodes the body for a route for servers. Throws a problem if the body has a member that the
    /// value does not have.
    func value<Value: Decodable>(_ type: Value.Type, max bytesMax: Int) async throws -> Value {
        try await lenientValue(Strict<Value>.self, max: bytesMax).value
    }

    /// Decodes a body with purchases.
    func purchases<Value: Decodable>(_ type: Value.Type) async throws -> Value {
        do { return try await lenientValue(type, max: BodyLimit.purchases) } catch let refused
            as ProblemError where refused.problem.code == .bodyTooLarge
        {
            throw ProblemError(.purchasesTooLarge(bytesMax: BodyLimit.purchases))
        }
    }

    /// Decodes the body for a route for apps. Ignores unknown members. No media type is required,
    /// because a body that does not parse is rejected anyway.
    ///
    /// - Parameter names: how the names of members are converted to the names of properties.
    func lenientValue<Value: Decodable>(
        _ type: Value.Type, max bytesMax: Int,
        names: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys
    ) async throws -> Value {
        let buffer = try await bytes(max: bytesMax)
        let (hasNUL, commas) = buffer.withUnsafeReadableBytes { bytes in
            (NULCharacter.isEscaped(in: bytes), bytes.count { $0 == UInt8(ascii: ",") })
        }
        guard !hasNUL else { throw ProblemError(.bodyWithNUL) }
        guard commas < Self.valuesMax else {
            throw ProblemError(.tooManyJSONValues(max: Self.valuesMax))
        }
        let json = Data(buffer.readableBytesView)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = names
        do {
            return try decoder.decode(type, from: json)
        } catch let error as DecodingError {
            throw ProblemError(error, of: json)
        }
    }
}

extension ProblemError {
    /// Makes the problem of an error. Names the member that is wrong, and never repeats its value.
    init(_ error: DecodingError, of json: Data) {
        let (path, wrong): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            case .valueNotFound(_, let context): (context.codingPath, "is null")
            case .typeMismatch(let type, let context):
                (context.codingPath, "is not \(Self.name(of: type))")
            case .dataCorrupted(let context): (context.codingPath, "cannot be read")
            @unknown default: ([], "cannot be read")
            }
        if let member = Self.text(of: path) {
            self.init(
                Self.isTime(error) ? .timeNotReadable : .of(.bodyNotUnderstood),
                detail: "\(member) \(wrong).")
        } else if Self.isObject(json) {
            // The decoder does not say which member is wrong.
            self.init(
                .bodyNotUnderstood,
                detail: "A number is not whole or is too large, or a text cannot be read.")
        } else if json.isEmpty {
            self.init(.bodyEmpty)
        } else {
            self.init(.bodyNotJSON, detail: JSONFault(in: Array(json)).map(Self.sentence))
        }
    }

    private static func sentence(about fault: JSONFault) -> String {
        switch fault {
        case .end: "It ends too early."
        case .character(let line, let column):
            "It is no JSON from line \(line), column \(column), on."
        }
    }

    /// Whether the error is about a time that cannot be read. Among the errors that have a path,
    /// only those about times come from our own code.
    private static func isTime(_ error: DecodingError) -> Bool {
        if case .dataCorrupted = error { true } else { false }
    }

    private static func isObject(_ json: Data) -> Bool {
        do {
            _ = try JSONDecoder().decode(MemberNames.self, from: json)
            return true
        } catch { return false }
    }

    private static func text(of path: [any CodingKey]) -> String? {
        guard !path.isEmpty else { return nil }
        return path.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            .joined(separator: ".").replacing(".[", with: "[")
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "text"
        case is Bool.Type: "true or false"
        case is [Any].Type: "a list"
        default: "of the expected type"
        }
    }
}
