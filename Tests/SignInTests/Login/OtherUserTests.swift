import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Another user of the machine, who reads the one-time URL in the browser's arguments and opens it first.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can be another user for a moment"))
struct OtherUserTests {
    /// A browser that the other user is faster than. Saves the response that they get.
    private func browser(_ fixture: CommandFixture) throws -> String {
        let script = """
            setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
                trap "" PIPE
                host=${0#http://}; host=${host%%/*}
                exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
                printf "GET /${0#http://*/} HTTP/1.1\\r\\nHost: $host\\r\\n\\r\\n" >&3
                cat <&3' "$1" > '\(fixture.home)/stolen'
            exec scripted-browser "$1"
            """
        let path = fixture.home + "/browser.sh"
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        return "sh \(path) %s"
    }

    private func stolen(_ fixture: CommandFixture) throws -> String {
        try String(contentsOfFile: fixture.home + "/stolen", encoding: .utf8)
    }

    @Test func `other users get nothing, and the user signs in and out`() async throws {
        try await withDesk { fixture in
            let browser = try browser(fixture)
            let login = try await fixture.login("--verbose", with: ["BROWSER": browser])
            _ = try login.result()
            #expect(try stolen(fixture) == "")
            let refused = login.errorLines.filter {
                $0.contains("a program of another user of this computer connected")
            }
            #expect(refused.count == 1 && refused[0].hasPrefix("sign-in: info: redirect: "), "\(login)")
            #expect(!login.errors.contains(Self.warning))
            #expect(login.errors.contains("discovery: the metadata has everything that the sign-in needs"))
            let logout = try await fixture.run("logout", "--json", with: ["BROWSER": browser])
            #expect(try logout.result()["session_ended"] == true)
            #expect(try stolen(fixture) == "")
            #expect(fixture.provider.count(.endSession) > 0)
        }
    }

    @Test func `if the browser runs as another user, the note after a while says so`() async throws {
        try await withDesk { fixture in
            let browser = try browser(fixture)
            let only = "sh \(fixture.home)/other.sh %s"
            let script = try String(contentsOfFile: fixture.home + "/browser.sh", encoding: .utf8)
            try script.replacing("exec scripted-browser \"$1\"", with: "").write(
                toFile: fixture.home + "/other.sh", atomically: true, encoding: .utf8)
            let process = try fixture.start(
                fixture.loginArguments(["--timeout", "30"]), ["BROWSER": browser.isEmpty ? "" : only])
            let line = try await process.line { $0.hasPrefix("A program of another user") }
            #expect(line.hasSuffix("If that is your browser, start this program as its user."), "\(line)")
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    /// A variable may name a place in /tmp whose bus has ended. (dbus-daemon talks only to users that have a name.)
    @Test(arguments: [(1, "belongs to another user"), (65534, "found none")])
    func `a keyring on the bus of another user is not used`(user: Int, message: String) async throws {
        try await withDesk { fixture in
            let script = """
                set -e
                folder=$(mktemp -d)
                chmod 777 "$folder"
                cp "$0" "$folder/sign-in"
                cat >"$folder/bus.conf" <<CONF
                <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
                "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"> <busconfig><type>session</type>
                <listen>unix:path=$folder/bus</listen><auth>EXTERNAL</auth><policy context="default"><allow user="*"/>
                <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
                CONF
                setpriv --reuid=65534 --regid=65534 --clear-groups \\
                    dbus-daemon --config-file="$folder/bus.conf" --nofork --print-address=1 >"$folder/address" &
                trap 'kill $!; rm -r "$folder"' EXIT
                until [ -s "$folder/address" ]; do :; done
                setpriv --reuid=\(user) --regid=\(user) --clear-groups env -i HOME="$folder" \\
                    DBUS_SESSION_BUS_ADDRESS="unix:path=$folder/bus" "$folder/sign-in" token --json --store keyring \\
                    --issuer https://op.example --client-id demo
                """
            let outcome = try await fixture.start(["sh", "-c", script, BuiltProducts.path("sign-in")], []).outcome()
            #expect(outcome.output.contains(message), "\(outcome)")
        }
    }

    private static let warning = "can connect to the redirect listener"

    /// Returns the words that run `sign-in` where the programs of these users run, and no others.
    private func command(besides users: Int...) throws -> [String] {
        let others = users.map { user in
            """
            setpriv --reuid=\(user) --regid=\(user) --clear-groups sleep 600 &
            until [ "$(stat -c %u /proc/$!)" = \(user) ]; do :; done

            """
        }
        return Namespace.ownProcesses + [
            "sh", "-c", others.joined() + #""$0" "$@""#, try BuiltProducts.path("sign-in"),
        ]
    }

    private static let (zoe, daemon) = (1000, 999)

    @Test(.enabled("namespaces can be created") { try await Namespace.isPossible(Namespace.ownProcesses) })
    func `the warning about other users is for machines on which some run programs, and browsers that start`()
        async throws
    {
        try await withDesk { fixture in
            let unknown: [String: String?] = ["XAUTHORITY": nil]
            let alone = try command(besides: Self.daemon)
            let login = try await fixture.start(alone, fixture.loginArguments([]), unknown).outcome()
            _ = try login.result()
            #expect(!login.errors.contains(Self.warning), "\(login)")
            let shared = try command(besides: Self.daemon, Self.zoe)
            let warned = try await fixture.start(shared, fixture.loginArguments([]), unknown).outcome()
            #expect(warned.errors.contains(Self.warning), "\(warned)")
            let missing: [String: String?] = ["XAUTHORITY": nil, "BROWSER": fixture.home + "/none"]
            for (options, changes) in [(["--no-browser"], unknown), ([], missing)] {
                let waiting = try fixture.start(shared, fixture.loginArguments(options), changes)
                try await Redirects(waiting).signIn()
                let outcome = try await waiting.outcome()
                _ = try outcome.result()
                #expect(!outcome.errors.contains(Self.warning), "\(outcome)")
            }
        }
    }

    @Test(.enabled("namespaces can be created") { try await Namespace.isPossible(Namespace.ownProcesses) })
    func `a command warns about other users once`() async throws {
        try await withDesk { fixture in
            for profile in ["home", "work"] { _ = try await fixture.login("--profile", profile).result() }
            let shared = try command(besides: Self.zoe)
            let out = try await fixture.start(shared, ["logout", "--all", "--json"], ["XAUTHORITY": nil]).outcome()
            _ = try out.result()
            #expect(out.errors.components(separatedBy: Self.warning).count == 2, "\(out)")
        }
    }

    @Test(.enabled("namespaces can be created") { try await Namespace.isPossible(Namespace.ownProcesses) })
    func `if the user of the browser is unknown, sign-in says so, and others can use up the URL`() async throws {
        try await withDesk { fixture in
            let changes = ["BROWSER": try browser(fixture), "XAUTHORITY": nil]
            let shared = try command(besides: Self.zoe)
            let process = try fixture.start(shared, fixture.loginArguments(["--timeout", "60"]), changes)
            let line = try await process.line { $0.contains(Self.warning) }
            #expect(line.contains("the user of the browser is unknown. If only you"))
            #expect(try await fixture.browser.page().contains("This link was already used"))
            #expect(try stolen(fixture).contains(fixture.provider.url(.authorization)))
            // The printed URL works any number of times.
            try await Redirects(process).signIn()
            _ = try await process.outcome().result()

            let logout = try await fixture.start(
                shared, ["logout", "--timeout", "2"], ["BROWSER": "true", "XAUTHORITY": nil]
            ).outcome()
            #expect(logout.errors.contains(Self.warning))
        }
    }
}
