import Engine
import HTTPTypes
import Ledger
import NIOCore
import PerennialContract

/// Questions that came together on one event loop. They take each step together: all are read,
/// then all are looked up, then all are written.
///
/// So the code of a step is fetched into the processor's cache once for all of them, the database
/// is opened once, and whoever sent them gets the answers together, too, and sends the next ones
/// together.
final class Cohort {
    /// With so many it is answered at once.
    static let questionsMax = 64
    /// Of one answer. A larger one goes by its route, which waits for who is slow to read it.
    static let answerBytesMax = 32_768

    private struct Member {
        var way: ShortWay
        var question: PlainQuestion
        var began: ContinuousClock.Instant
    }

    private let server: PerennialServer
    private let loop: any EventLoop
    private var members: [Member] = []
    private var date = HTTPDate()

    init(of server: PerennialServer, on loop: any EventLoop) {
        self.server = server
        self.loop = loop
    }

    /// Of the connections that the loop has found ready none is left out: what is executed waits
    /// until all were read.
    func join(_ way: ShortWay, _ question: PlainQuestion) {
        if members.isEmpty {
            let cohort = NIOLoopBound(self, eventLoop: loop)
            loop.execute { cohort.value.answer() }
        }
        members.append(Member(way: way, question: question, began: .now))
        if members.count == Self.questionsMax { answer() }
    }

    func answer() {
        guard !members.isEmpty else { return }
        let members = members
        self.members.removeAll(keepingCapacity: true)
        let answers = server.answers(to: members.map(\.question))
        for (member, answer) in zip(members, answers) {
            if let answer, answer.json.readableBytes <= Self.answerBytesMax {
                server.engine.noteAnswered(answer.state, in: answer.app)
                give(answer.json, to: member)
            } else {
                member.way.goOn()
            }
        }
    }

    private func give(_ json: ByteBuffer, to member: Member) {
        let requestID = RequestFrame.requestID(asked: member.question.headers[.requestID])
        var headers: HTTPFields = [
            .contentType: "application/json", .contentLength: String(json.readableBytes),
            .date: date.now(),
        ]
        RequestFrame.complete(&headers, requestID: requestID)
        member.way.answer(HTTPResponse(status: .ok, headerFields: headers), json)
        server.frame.finish(
            .get, route: PlainQuestion.route, .ok, requestID: requestID, began: member.began)
    }
}

/// What may a customer use now? Asked plainly: without a query, a body, or anything in the path to
/// decode.
struct PlainQuestion {
    static let route = "/v1/customers/{id}"
    private static let prefix = "/v1/customers/"

    var request: HTTPRequest
    var id: CustomerID
    var headers: HTTPFields { request.headerFields }

    /// Nil for all other requests, and where the connection is to end with the answer.
    init?(_ request: HTTPRequest) {
        let headers = request.headerFields
        guard request.method == .get, let path = request.path, path.hasPrefix(Self.prefix),
            headers[.connection].map({ $0.lowercased() == "keep-alive" }) ?? true,
            headers[.contentLength] == nil, headers[.transferEncoding] == nil
        else { return nil }
        let id = path.utf8.dropFirst(Self.prefix.utf8.count)
        guard !id.contains(where: Self.isSpecial) else { return nil }
        self.request = request
        self.id = CustomerID(rawValue: String(Substring(id)))
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "%")
            || byte == UInt8(ascii: "#")
    }
}

private struct PlainAnswer {
    var app: AppID
    var state: CustomerState
    var json: ByteBuffer
}

extension PerennialServer {
    /// Nil where a route is to answer: something would have to be waited for, or is refused.
    fileprivate func answers(to questions: [PlainQuestion]) -> [PlainAnswer?] {
        let accepted = questions.map { question in holder(of: question) }
        var asked: [CustomerQuestion] = []
        for (question, holder) in zip(questions, accepted) {
            if let holder { asked.append(CustomerQuestion(question.id, in: holder.app)) }
        }
        var answers = engine.customersAtOnce(asked, in: .production)[...]
        return accepted.map { holder in
            guard let holder, let answer = answers.removeFirst() else { return nil }
            var customer = Customer(answer.state)
            customer.token = answer.token
            return PlainAnswer(
                app: holder.app, state: answer.state, json: Answers.customerJSON(customer))
        }
    }

    private func holder(of question: PlainQuestion) -> KeyHolder? {
        guard let key = BearerKey(question.headers)?.text, let holder = keys.remembered(key) else {
            return nil
        }
        do { try requireProof(of: question.id, question.headers, holder) } catch { return nil }
        return holder
    }
}
