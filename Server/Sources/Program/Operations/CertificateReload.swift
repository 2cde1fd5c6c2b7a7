import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Synchronization

/// Puts a renewed certificate in force while the server runs. Reads its files regularly, because
/// not every program that renews certificates sends a signal.
///
/// A pair that cannot be used is refused, and the former certificate stays in force. While a
/// program replaces both files, they do not match for a moment. So a pair is reported as refused
/// only if two consecutive checks found the same contents.
final class CertificateReload: Sendable {
    private struct State {
        var settings: TLSSettings
        /// The contents of the files at the last check.
        var seen: [[UInt8]?]
        /// Whether ``seen`` was reported as refused, or is in force. False at first, because the
        /// files may have changed since the configuration was read.
        var isJudged = false
        /// When the log last warned that the certificate ends soon.
        var warnedAt: Instant?
    }

    /// A certificate that ends within this time is reported once a day. Programs that renew
    /// certificates do so earlier.
    static let warningBefore = Duration.days(7)
    static let warningPause = Duration.days(1)

    let live: LiveCertificate
    private let folder: ConfigurationFolder
    private let now: @Sendable () -> Instant
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - settings: the certificate that is in force from the start.
    ///   - folder: the folder to which relative names of the files refer.
    init(
        _ settings: TLSSettings, in folder: ConfigurationFolder,
        now: @escaping @Sendable () -> Instant, logger: Logger
    ) {
        live = LiveCertificate(settings.certificate)
        self.folder = folder
        self.now = now
        self.logger = logger
        state = Mutex(State(settings: settings, seen: Self.contents(settings.files, folder)))
    }

    /// Puts the certificate of a changed configuration in force, unless clients could not use it
    /// now. Its files are watched from now on.
    func replace(_ settings: TLSSettings) {
        let found = Self.contents(settings.files, folder)
        let isOther = settings.certificate != live.current
        let problem = isOther ? settings.certificate.problem(at: now()) : nil
        state.withLock { state in
            (state.settings, state.seen, state.isJudged) = (settings, found, problem != nil)
        }
        if let problem {
            report(CertificateRefusal(problem, in: settings.files))
        } else if isOther {
            activate(settings)
        }
    }

    /// Reads the files once, and serves them from now on if they have changed and can be used.
    func reloadIfChanged() {
        warnBeforeEnd()
        let (files, offersHTTP2) = state.withLock { ($0.settings.files, $0.settings.offersHTTP2) }
        let found = Self.contents(files, folder)
        let isSame: Bool? = state.withLock { state in
            // If the configuration was changed while these files were read, it may name other
            // files. Then the contents of these files are not used.
            guard state.settings.files == files else { return nil }
            defer { state.seen = found }
            guard state.seen != found else { return state.isJudged ? nil : true }
            state.isJudged = false
            return false
        }
        guard let isSame else { return }
        do throws(CertificateRefusal) {
            let settings = try TLSSettings(files, offersHTTP2: offersHTTP2) { name in
                name == files.key ? found[1] : found[0]
            }
            let isOther = settings.certificate != live.current
            if isOther, let problem = settings.certificate.problem(at: now()) {
                throw CertificateRefusal(problem, in: files)
            }
            let isJudged = state.withLock { state in
                guard state.settings.files == files, state.settings.offersHTTP2 == offersHTTP2
                else { return false }
                state.settings = settings
                state.isJudged = true
                return true
            }
            if isOther, isJudged { activate(settings) }
        } catch {
            // If the contents differ from those at the last check, perhaps only one of the files
            // has been replaced yet. The error is reported if the next check finds the same
            // contents.
            guard isSame else { return }
            state.withLock { $0.isJudged = true }
            report(error)
        }
    }

    private func report(_ refusal: CertificateRefusal) {
        logger.error(
            "the changed certificate is refused; the former one stays in force",
            metadata: ["problem": .string(refusal.text)])
    }

    private func activate(_ settings: TLSSettings) {
        live.replace(settings.certificate)
        logger.notice(
            "a changed certificate is in force for new connections",
            metadata: [
                "names": .string(settings.certificate.names.joined(separator: ", ")),
                "until": .string(settings.certificate.end.minute),
            ])
    }

    private func warnBeforeEnd() {
        let now = now()
        let end = live.current.end
        guard end - now <= Self.warningBefore else { return }
        let isDue = state.withLock { state in
            if let last = state.warnedAt, now - last < Self.warningPause { return false }
            state.warnedAt = now
            return true
        }
        guard isDue else { return }
        logger.log(
            level: end < now ? .error : .warning,
            end < now ? "the certificate has expired" : "the certificate expires soon",
            metadata: ["until": .string(end.minute)])
    }

    private static func contents(
        _ files: TLSSettings.Files, _ folder: ConfigurationFolder
    ) -> [[UInt8]?] {
        [files.certificate, files.key].map(folder.contents)
    }
}

/// Checks the certificate's files while the server runs.
struct CertificateWatch: Service {
    /// The time between two checks.
    static let pause = Duration.seconds(10)

    let reload: CertificateReload

    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.pause)) != nil { reload.reloadIfChanged() }
        }
    }
}
