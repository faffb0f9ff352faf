internal import FoundationEssentials
internal import JOSE

/// The style of the pages, in one sheet inside each page.
enum Style {
    static let sheet = """
        :root{color-scheme:light dark;--back:#eef1f5;--card:#fff;--ink:#1c2430;--soft:#5b6676;--line:#d5dbe3;\
        --tint:#2257c9;--on-tint:#fff;--hint:#f2f6ff;--bad:#a61b29;--bad-back:#fdecee}
        @media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1c222b;--ink:#e8ecf2;--soft:#a0abba;\
        --line:#3a4350;--tint:#7fa8ff;--on-tint:#0d1526;--hint:#222c3d;--bad:#ff9aa5;--bad-back:#3a2126}}
        *{box-sizing:border-box}
        body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;\
        padding:1.5rem 1rem;background:var(--back);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
        main{width:100%;max-width:26rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;\
        padding:2rem;box-shadow:0 1px 2px #0001,0 8px 24px #0000000d}
        h1{font-size:1.4rem;line-height:1.25;margin:0 0 .5rem}
        p{margin:0 0 1.25rem}
        form p{margin:0 0 1.1rem}
        .soft{color:var(--soft)}
        label{display:block;font-weight:600;margin:0 0 .3rem}
        input{width:100%;font:inherit;padding:.65rem .75rem;margin:0;color:inherit;background:transparent;\
        border:1px solid var(--line);border-radius:.5rem}
        input:focus-visible,button:focus-visible{outline:3px solid var(--tint);outline-offset:1px}
        button{width:100%;font:inherit;font-weight:600;padding:.7rem 1rem;margin:0 0 .6rem;cursor:pointer;\
        border-radius:.5rem;border:1px solid var(--line);background:transparent;color:inherit}
        button.main{background:var(--tint);border-color:var(--tint);color:var(--on-tint)}
        button.link{border:0;color:var(--tint);font-weight:400;padding:.4rem;margin:0}
        ul{list-style:none;margin:0 0 1.25rem;padding:0;border:1px solid var(--line);border-radius:.5rem}
        li{padding:.6rem .85rem}
        li+li{border-top:1px solid var(--line)}
        .box{background:var(--hint);border-radius:.5rem;padding:.7rem .85rem}
        .bad{background:var(--bad-back);color:var(--bad)}
        code{font:.95em ui-monospace,monospace}
        footer{margin-top:1.25rem;font-size:.85rem;color:var(--soft);text-align:center}
        @media(max-width:30rem){body{justify-content:flex-start}main{padding:1.5rem 1.25rem}}
        """

    /// Lets this sheet and nothing else in (Content Security Policy Level 3 §8.4).
    static let source = "'sha256-\(Data(Digest.sha256.hash(sheet)).base64EncodedString())'"
}
