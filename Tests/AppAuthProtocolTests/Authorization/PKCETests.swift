import AppAuthProtocol
import JOSE
import Testing

struct PKCETests {
    @Test func `RFC 7636 appendix B`() {
        let pkce = PKCE(codeVerifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(pkce.codeChallenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `a verifier is 32 random bytes in base64url, and its challenge their hash (RFC 7636 §4.1, §4.2)`() throws
    {
        let pkce = try PKCE()
        let verifier = pkce.codeVerifier.reveal()
        #expect(verifier.utf8.count == 43)
        #expect(Base64URL.decode(verifier)?.count == 32)
        #expect(pkce.codeChallenge == Base64URL.encode(Digest.sha256.hash(Array(verifier.utf8))))
        #expect(try PKCE().codeVerifier != pkce.codeVerifier)
        #expect(!"\(pkce)".contains(verifier))
    }
}
