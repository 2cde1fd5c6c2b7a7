/// A reply of a mail server (RFC 5321 §4.2).
struct SMTPReply: Hashable, Sendable {
    /// The maximum number of characters of a reply that a message quotes.
    static let quotedCharactersMax = 200

    var code: Int
    /// The text of each line, without code.
    var lines: [String]

    /// The beginning of the reply, for a person.
    var text: String {
        let words = "\(code) \(lines.joined(separator: " "))".unicodeScalars
            .map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" }
        return String(words.prefix(Self.quotedCharactersMax))
    }

    /// The extensions that a reply to EHLO lists, in upper case, each with its parameters.
    var extensions: [[String]] {
        lines.dropFirst().map { line in
            line.uppercased().replacing("AUTH=", with: "AUTH ").split(separator: " ")
                .map(String.init)
        }
    }
}

/// Parses the replies of a mail server.
struct SMTPReplyParser {
    /// The maximum length of a line, in bytes. RFC 5321 §4.5.3.1.5 permits 512.
    static let lineBytesMax = 2_048
    /// The maximum number of lines of one reply.
    static let linesMax = 100

    private var rest: [UInt8] = []
    private var lines: [String] = []
    private var code: Int?

    /// Whether bytes have arrived that belong to no complete reply.
    var hasRest: Bool { !rest.isEmpty || code != nil }

    mutating func append(_ bytes: some Sequence<UInt8>) { rest += bytes }

    /// Returns the next complete reply; nil if more bytes are needed.
    ///
    /// - Throws: ``MailFailure`` if the bytes are no reply, or too many.
    mutating func next() throws(MailFailure) -> SMTPReply? {
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(rest[..<end])
            rest.removeFirst(end + 1)
            if let reply = try add(line) { return reply }
        }
        guard rest.count <= Self.lineBytesMax else { throw Self.tooLong }
        return nil
    }

    /// Adds a line. Returns the reply if the line is its last one.
    private mutating func add(_ line: [UInt8]) throws(MailFailure) -> SMTPReply? {
        guard line.count <= Self.lineBytesMax, lines.count < Self.linesMax else {
            throw Self.tooLong
        }
        let text = String(decoding: line.last == 0x0D ? line.dropLast() : line[...], as: UTF8.self)
        let digits = text.prefix(3)
        guard digits.utf8.count == 3, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(digits), code == nil || code == number
        else {
            throw MailFailure(
                "The mail server sent what is no reply of SMTP.",
                remedy: "Check `server`: is the port one for sending mail, such as 587 or 465?")
        }
        lines.append(String(text.dropFirst(4)))
        guard text.dropFirst(3).first != "-" else {
            code = number
            return nil
        }
        defer { (lines, code) = ([], nil) }
        return SMTPReply(code: number, lines: lines)
    }

    private static let tooLong = MailFailure("The mail server sent a reply that is too long.")
}
