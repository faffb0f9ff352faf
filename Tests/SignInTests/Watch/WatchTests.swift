import AppAuth
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// `sign-in watch`, with programs that record what the user would see.
@Suite(.timeLimit(.minutes(5)))
struct WatchTests {
    /// Puts a program in the place of notify-send, which records its arguments and presses the button, and returns the
    /// variables with which it is found.
    private func notifySend(_ fixture: CommandFixture, pressing button: String = "") throws -> [String: String] {
        let folder = fixture.home + "/programs"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" >>\"$HOME/notified\"\necho \(button)\n"
        try script.write(toFile: folder + "/notify-send", atomically: true, encoding: .utf8)
        chmod(folder + "/notify-send", 0o755)
        return ["PATH": folder + ":" + (fixture.environment["PATH"] ?? "")]
    }

    private func text(_ fixture: CommandFixture, _ name: String) -> String {
        (try? String(contentsOfFile: "\(fixture.home)/\(name)", encoding: .utf8)) ?? ""
    }

    /// Prints the event on standard output, which the watch passes on, and keeps it.
    private static let record = #"tee -a "$HOME/events""#

    private func events(_ fixture: CommandFixture) throws -> [JSON] {
        try text(fixture, "events").split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
    }

    private func stop(_ process: ChildProcess) async throws {
        process.send(SIGINT)
        #expect(try await process.outcome().status == 130)
    }

    /// A provider that counts the token requests.
    private func counting(lifetime: Int) -> (LocalProvider.Configuration, Watched<Int>) {
        let count = Watched(0)
        var configuration = LocalProvider.Configuration.demo
        configuration.accessTokenLifetime = lifetime
        configuration.observer = { request in if request.endpoint == .token { count.change { $0 += 1 } } }
        return (configuration, count)
    }

    @Test func `two watches refresh each token once, before it expires`() async throws {
        let (configuration, count) = counting(lifetime: 10)
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let before = try #require(try fixture.stored(profile: "work").accessToken)
            let watches = try (0..<2).map { _ in try fixture.start(["watch"]) }
            // The sign-in's request, and two refreshes.
            _ = try await count.wait { $0 >= 3 ? true : nil }
            #expect(try #require(before.received.elapsed(until: .current)) >= .seconds(18))
            for watch in watches { try await stop(watch) }
            #expect(try fixture.stored(profile: "work").accessToken?.value != before.value)
        }
    }

    @Test(
        .enabled("this system allows no user namespaces") { try await Namespace.isPossible(Namespace.withoutWatchers) })
    func `without watchers of files, a watch refreshes all the same`() async throws {
        let (configuration, count) = counting(lifetime: 10)
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let watch = try fixture.start(Namespace.withoutWatchers + [BuiltProducts.path("sign-in")], ["watch"])
            _ = try await watch.line { $0.contains("within a minute") && $0.contains("fs.inotify.max_user_instances") }
            _ = try await count.wait { $0 >= 2 ? true : nil }
            try await stop(watch)
        }
    }

    @Test func `an end is told once, without secrets, and the button signs in`() async throws {
        let (configuration, count) = counting(lifetime: 10)
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let session = try fixture.stored(profile: "work")
            let variables = try notifySend(fixture, pressing: "sign-in")
            let watch = try fixture.start(["watch", "--exec", Self.record], variables)
            fixture.provider.revokeGrant(of: try #require(session.refreshToken).reveal())
            // Another program finds out.
            _ = try await fixture.run("token", "--profile", "work", "--force-refresh")
            _ = try await watch.line { $0.contains("sign_in_required") }
            let event = try #require(try events(fixture).first)
            #expect(event["profile"]?.string == "work" && event["user"]?.string == "alice" && event["reminder"] == 1)
            #expect(event["issuer"]?.string == fixture.issuer && event["client_id"]?.string == "demo")
            #expect(event["command"]?.string == "sign-in login --profile work")
            #expect(event["reason"]?.string?.contains("no longer accepts") == true)
            // The button has signed in, and the watch goes on with the new session.
            _ = try await count.wait { $0 >= 4 ? true : nil }
            #expect(try fixture.stored(profile: "work").id != session.id)
            try await stop(watch)
            #expect(try events(fixture).count == 1)
            let notified = text(fixture, "notified")
            #expect(notified.contains("--action=sign-in=Sign in\nwork: sign in again\n"), "\(notified)")
            for secret in [session.accessToken?.value, session.refreshToken, session.idToken?.rawValue] {
                let secret = try #require(secret?.reveal())
                #expect(!text(fixture, "events").contains(secret) && !notified.contains(secret))
            }
        }
    }

    @Test func `after a restart, the user is not told again`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            fixture.provider.revokeGrant(of: try #require(try fixture.stored(profile: "work").refreshToken).reveal())
            _ = try await fixture.run("token", "--profile", "work", "--force-refresh")
            for _ in 0..<2 {
                let watch = try fixture.start(["watch", "--exec", Self.record], notifySend(fixture))
                _ = try await watch.line { $0 == "Watching: work" }
                _ = try await resting(watch)
                try await stop(watch)
            }
            #expect(try events(fixture).count == 1)
        }
    }

    @Test func `two watches tell an end once`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let variables = try notifySend(fixture)
            let watches = try (0..<2).map { _ in try fixture.start(["watch", "--exec", Self.record], variables) }
            for watch in watches {
                _ = try await watch.line { $0 == "Watching: work" }
                _ = try await resting(watch)
            }
            fixture.provider.revokeGrant(of: try #require(try fixture.stored(profile: "work").refreshToken).reveal())
            _ = try await fixture.run("token", "--profile", "work", "--force-refresh")
            try await waitUntil { try !events(fixture).isEmpty && !text(fixture, "notified").isEmpty }
            for watch in watches { _ = try await resting(watch) }
            for watch in watches { try await stop(watch) }
            #expect(try events(fixture).count == 1)
            #expect(text(fixture, "notified").components(separatedBy: "work: sign in again").count == 2)
        }
    }

    /// Waits until a watch is at rest, and returns the number of its pauses so far (proc_pid_status(5)).
    private func resting(_ watch: ChildProcess) async throws -> Int? {
        func status() -> String {
            (try? String(contentsOfFile: "/proc/\(watch.id)/status", encoding: .utf8)) ?? ""
        }
        // A process that has run tasks has several threads, or has had a timer of Dispatch since then.
        try await waitUntil {
            let environment = (try? Data(contentsOf: URL(filePath: "/proc/\(watch.id)/environ"))) ?? Data()
            return environment.firstRange(of: Data("SIGN_IN_WATCH_REST=".utf8)) != nil
                && status().contains("Threads:\t1\n") && status().contains("State:\tS")
        }
        return status().split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            .flatMap { Int($0.split(separator: "\t")[1]) }
    }

    @Test func `at rest, nothing wakes a watch but a change, the time, or a signal`() async throws {
        let (configuration, count) = counting(lifetime: 20)
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let watch = try fixture.start(["watch"])
            _ = try await watch.line { $0 == "Watching: work" }
            let pauses = try #require(try await resting(watch))
            let status = try String(contentsOfFile: "/proc/\(watch.id)/status", encoding: .utf8)
            let resident = try #require(status.firstMatch(of: /VmRSS:\s*(\d+) kB/).flatMap { Int($0.1) })
            #expect(resident * 1024 < 8_000_000)
            // Dispatch would wake it every second. This needs real time, which the kernel counts.
            try await Task.sleep(for: .seconds(3))
            #expect(try await resting(watch) == pauses)
            // The time, and a change: the first session is refreshed, and another one is noticed.
            _ = try await count.wait { $0 >= 2 ? true : nil }
            _ = try await fixture.login("--profile", "more").result()
            _ = try await count.wait { $0 >= 4 ? true : nil }
            _ = try await resting(watch)
            try await stop(watch)
        }
    }

    /// All machines of an office wake at the same time.
    @Test(arguments: [true, false])
    func `after a machine has slept, a watch waits for a part of a minute`(hasSlept: Bool) async throws {
        let (configuration, count) = counting(lifetime: 1800)
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let file = "\(fixture.home)/suspended"
            let library = try await FaultInjector.library("suspended", for: fixture)
            let watch = try fixture.start(["watch"], ["LD_PRELOAD": library, "SUSPENDED": file])
            _ = try await watch.line { $0 == "Watching: work" }
            let pauses = try #require(try await resting(watch))
            if hasSlept { try Data().write(to: URL(filePath: file)) }
            // A change ends the rest.
            _ = try await fixture.login("--profile", "more").result()
            if hasSlept {
                try await waitUntil { text(fixture, "suspended").hasSuffix("\n") }
                #expect((0..<60_000).contains(try #require(Int(text(fixture, "suspended").dropLast()))))
                // Both tokens have expired in this hour.
                _ = try await count.wait { $0 >= 4 ? true : nil }
            }
            try await waitUntil { try await (resting(watch) ?? 0) > pauses }
            try await stop(watch)
            #expect(count.value == (hasSlept ? 4 : 2))
        }
    }

    /// As with nohup, after the end of the terminal.
    @Test func `a signal that is ignored does not wake a watch`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let ignoring = try ["/bin/sh", "-c", "trap '' HUP INT; exec \"$0\" watch", BuiltProducts.path("sign-in")]
            let watch = try fixture.start(ignoring, [])
            _ = try await watch.line { $0 == "Watching: work" }
            let pauses = try await resting(watch)
            watch.send(SIGHUP)
            watch.send(SIGINT)
            // A signal that stays pending would end each rest at once. This needs real time, which the kernel counts.
            try await Task.sleep(for: .seconds(1))
            #expect(try await resting(watch) == pauses)
            watch.send(SIGTERM)
            #expect(try await watch.outcome().status != 0)
        }
    }

    @Test func `an announced end is told before it comes`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["authorization_expires_in"] = 12 }, at: .token)
            _ = try await fixture.login("--profile", "work").result()
            let watch = try fixture.start(["watch", "--profile", "work", "--exec", Self.record], notifySend(fixture))
            _ = try await watch.line { $0.contains("sign_in_due") }
            let event = try #require(try events(fixture).first)
            let before = try Date(#require(event["before"]?.string), strategy: .iso8601)
            #expect(abs(before.timeIntervalSince(try #require(fixture.stored(profile: "work").announcedEnd))) < 1)
            #expect(before.timeIntervalSinceNow > -60)
            // The end of the watch also ends the notification.
            try await waitUntil { text(fixture, "notified").contains("work: sign in again before ") }
            try await stop(watch)
        }
    }

    @Test func `without notify-send, the watch says so and goes on`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            fixture.provider.revokeGrant(
                of: try #require(try fixture.stored(profile: "work").refreshToken).reveal())
            _ = try await fixture.run("token", "--profile", "work", "--force-refresh")
            let watch = try fixture.start(["watch", "--exec", "exit 3"], ["PATH": fixture.home])
            _ = try await watch.line { $0.contains("sign in again") && $0.contains("sign-in login --profile work") }
            _ = try await watch.line { $0.contains("notify-send ended with status 127: ") }
            _ = try await watch.line { $0.contains("the command of --exec ended with status 3") }
            try await stop(watch)
        }
    }

    @Test func `only known profiles are watched`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let outcome = try await fixture.run("watch", "--profile", "work")
            #expect(outcome.status == 2 && outcome.errors.contains("there is no profile"), "\(outcome)")
        }
    }
}

extension CommandFixture {
    fileprivate func stored(profile: String) throws -> AuthStateRecord {
        let path = "\(sessions)/\(profile).json"
        return try AuthStateRecord(decoding: Array(Data(contentsOf: URL(fileURLWithPath: path))), from: path)
    }
}
