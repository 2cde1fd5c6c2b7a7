import AppStoreFormats
import Foundation

// The route where verifiers check the revocation status of the simulator's certificates.

extension SimulatorRoute {
    static let ocspRoutes = [
        Self(
            method: .post, path: "/_sim/ocsp",
            summary: "The OCSP responder (RFC 6960) of the simulator's certificates.",
            shape: .bytes(type: "application/ocsp-response"), bodyBytesMax: OCSPRequest.bytesMax,
            mediaType: "application/ocsp-request"
        ) { simulator, call in
            .bytes(
                try await simulator.ocspResponse(to: call.bytes),
                type: "application/ocsp-response")
        }
    ]
}

extension AppStoreSimulator {
    fileprivate func ocspResponse(to request: [UInt8]) throws -> [UInt8] {
        guard let responder = authority.revocationResponder else {
            throw SimulatorProblem.wrongState(
                "The certificates name no OCSP responder.",
                remedy: "Start with: perennial simulate --ocsp-url http://…/_sim/ocsp")
        }
        return try responder.response(
            to: request, at: Date(), revoked: settings.revokedCertificates)
    }
}
