internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Decides which redirects a request follows. By default URLSession follows every redirect, and
/// sends the proof of the customer's identity and the documents of purchases to any host that the
/// redirect names.
final class RedirectPolicy: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let follows = task.originalRequest.map { Self.allows($0, to: request) } ?? false
        // Without a new request, the task ends with the redirect as its response.
        completionHandler(follows ? request : nil)
    }

    /// Whether a redirect is followed: only to the same host, only with the same method, and never
    /// from HTTPS to HTTP. URLSession changes the method of a POST to GET after some redirects.
    static func allows(_ original: URLRequest, to new: URLRequest) -> Bool {
        guard let from = original.url, let to = new.url, let host = from.host?.lowercased(),
            host == to.host?.lowercased(), original.httpMethod == new.httpMethod
        else { return false }
        return from.scheme?.lowercased() == to.scheme?.lowercased()
            || to.scheme?.lowercased() == "https"
    }
}
