import HTTPServer
import Yams

/// The certificate with which a server encrypts connections, and the files it comes from.
package struct TLSSettings: Hashable, Sendable {
    /// The names of both files, as the configuration has them.
    package struct Files: Hashable, Sendable {
        package var certificate: String
        package var key: String
    }

    package var files: Files
    /// Whether connections offer HTTP/2 beside HTTP/1.1.
    package var offersHTTP2: Bool
    package var certificate: ServerCertificate

    /// Reads both files.
    ///
    /// - Parameter offersHTTP2: whether connections offer HTTP/2 beside HTTP/1.1.
    /// - Parameter contents: returns the contents of a file, or nil if it cannot be read.
    /// - Throws: ``CertificateRefusal`` if no client could connect with them.
    init(
        _ files: Files, offersHTTP2: Bool, contents: (String) -> [UInt8]?
    ) throws(CertificateRefusal) {
        func read(_ name: String) throws(CertificateRefusal) -> [UInt8] {
            guard let bytes = contents(name) else {
                throw CertificateRefusal(
                    file: name, message: "\(name) cannot be read.",
                    remedy: "Name it relative to the configuration's folder, and make it readable "
                        + "for the server's user.")
            }
            return bytes
        }
        let chain = try read(files.certificate)
        let key = try read(files.key)
        self.files = files
        self.offersHTTP2 = offersHTTP2
        do throws(ServerCertificate.Problem) {
            certificate = try ServerCertificate(
                certificates: chain, key: key, offersHTTP2: offersHTTP2)
        } catch {
            throw CertificateRefusal(error, in: files)
        }
    }
}

/// Why a pair of certificate and key cannot be used, and what to do.
struct CertificateRefusal: Error, Hashable {
    var file: String
    var message: String
    var remedy: String

    var text: String { "\(message) \(remedy)" }
}

extension CertificateRefusal {
    init(_ problem: ServerCertificate.Problem, in files: TLSSettings.Files) {
        file = problem.file == .key ? files.key : files.certificate
        message = "\(file) \(problem.message)"
        remedy = problem.remedy
    }
}

extension ConfigurationReader {
    static let tlsKeys = ["certificate_file", "private_key_file", "http2"]

    /// Reads the certificate. Returns nil if it cannot be used.
    mutating func tls(_ node: Node) -> TLSSettings? {
        let found = members(of: node, known: Self.tlsKeys, in: "tls")
        guard let certificate = found["certificate_file"].flatMap(nonEmptyText),
            let key = found["private_key_file"].flatMap(nonEmptyText)
        else {
            complain(
                node, "tls needs certificate_file and private_key_file.",
                "Name two PEM files: the certificate with its chain, and its private key.")
            return nil
        }
        let offersHTTP2 = found["http2"].flatMap { bool($0) } ?? false
        do throws(CertificateRefusal) {
            let settings = try TLSSettings(
                TLSSettings.Files(certificate: certificate, key: key), offersHTTP2: offersHTTP2,
                contents: file)
            if settings.certificate.lacksIssuer {
                warn(
                    found["certificate_file"],
                    "\(certificate) contains only the server's own certificate.",
                    "Add its issuer's below it (certbot: fullchain.pem): otherwise Apple and most "
                        + "apps cannot verify it.")
            }
            return settings
        } catch {
            let place = error.file == key ? "private_key_file" : "certificate_file"
            complain(found[place], error.message, error.remedy)
            return nil
        }
    }
}
