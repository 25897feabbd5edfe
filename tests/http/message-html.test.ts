import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { messageHtml } from '../../src/lib/html.ts';
import { anyCharacter } from '../support/any-character.ts';

const messages = suite('messageHtml');

const render = async (message: string): Promise<string | null> =>
  (await messageHtml(message))?.toString() ?? null;
const renderInner = async (message: string): Promise<string> =>
  /^<div class="message">(.*)<\/div>$/s.exec((await render(message)) ?? '')?.[1] ?? '';

const TAGS = 'p|div|h2|h3|h4|ul|ol|li|blockquote|pre|b|strong|i|em|u|s|small|code|span';
/** Everything that is allowed: text without brackets, tags without attributes, and links. */
const HARMLESS = new RegExp(
  `^(?:[^<>]|</?(?:${TAGS})>|<[bh]r />|</a>|<a (?:href="[^"<>]*" )?rel="noopener noreferrer">)*$`,
  's',
);

/** The protocols of all links, as a browser parses them. */
const protocolsIn = (markup: string): string[] =>
  [...markup.matchAll(/ href="([^"]*)"/g)].flatMap(([, href = '']) => {
    const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
    const text = href.replaceAll(/&(lt|gt|quot|amp);/g, (_entity, name) => entities[name] ?? '');
    return URL.parse(text, 'http://steward.test/nowhere/')?.protocol ?? [];
  });

const assertHarmless = async (message: string): Promise<void> => {
  const markup = ((await render(message)) ?? '').replace(/^<(div|p) class="(message|plain-text)">/, '<$1>');
  assert.match(markup, HARMLESS, message);
  assert.ok(isBalanced(markup), message);
  for (const protocol of protocolsIn(markup)) assert.match(protocol, /^(https?|mailto):$/, message);
};

const isBalanced = (markup: string): boolean => {
  const open: string[] = [];
  for (const [, slash, name = ''] of markup.matchAll(/<(\/?)([a-z0-9]+)(?:\s[^>]*)?(?<!\/)>/g)) {
    if (slash === '') open.push(name);
    else if (open.pop() !== name) return false;
  }
  return open.length === 0;
};

const SAFE = 'rel="noopener noreferrer"';

messages('keeps harmless markup and links, and drops all else', async () => {
  for (const [message, shown] of [
    [
      '<h1>Lost</h1><p>Ask <b>Alex</b>,<br>or</p><ul><li>one</ul>',
      '<h2>Lost</h2><p>Ask <b>Alex</b>,<br />or</p><ul><li>one</li></ul>',
    ],
    ['<a href="mailto:help@x.test">write</a>', `<a href="mailto:help@x.test" ${SAFE}>write</a>`],
    [
      '<a href="/login/" target="_blank" style="color:red">log in</a>',
      `<a href="/login/" ${SAFE}>log in</a>`,
    ],
    [
      '<a href=https://x.test/?a=b target=_blank download>Get</a>',
      `<a href="https://x.test/?a=b" ${SAFE}>Get</a>`,
    ],
    ['<!-- banner --><!DOCTYPE html><p>Hi</p>', '<p>Hi</p>'],
    ['<!-- one <!-- two --><p>Hi</p>', '&lt;!-- one <p>Hi</p>'],
    ['<p>Hi</p><script async src="x.js">let t = 1;</script>', '<p>Hi</p>'],
    [
      '<p>Ask <ada@acme.test></p><b title="x">now</b> <!-- or',
      '<p>Ask &lt;ada@acme.test&gt;</p><b>now</b> &lt;!-- or',
    ],
    ['</div></main></body><p>x</div>y', '<p>xy</p>'],
  ] as const)
    assert.is(await renderInner(message), shown);
});

messages('keeps plain text as it is', async () => {
  assert.is(await render('One\nTwo'), '<p class="plain-text">One\nTwo</p>');
  assert.is(await render('1 < 2 & 3 > 2 "x"'), '<p class="plain-text">1 &lt; 2 &amp; 3 &gt; 2 "x"</p>');
  assert.is(await render('&lt;b&gt;'), '<p class="plain-text">&lt;b&gt;</p>');
});

messages('shows what is no HTML element as text', async () => {
  for (const [message, shown] of [
    ['Write to Ada <ada@acme.test> today', 'Write to Ada &lt;ada@acme.test&gt; today'],
    ['if load is <budget or later', 'if load is &lt;budget or later'],
    ['a<b and c>d', 'a&lt;b and c&gt;d'],
    ['<name> & <x-y a="1">', '&lt;name&gt; &amp; &lt;x-y a="1"&gt;'],
  ] as const)
    assert.is(await render(message), `<p class="plain-text">${shown}</p>`);
});

messages('returns null if nothing visible remains', async () => {
  const empty = ['', ' \n', '<p></p>', '&nbsp;'];
  for (const message of [...empty, '<script>alert(1)</script>', '<img src=x onerror=alert(1)>'])
    assert.is(await render(message), null, message);
});

const VECTORS = [
  '<script>alert(1)</script>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><style><img src=x onerror=alert(1)></style></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="JaVaScRiPt:alert(1)">x</a>',
  '<a href=" &#14; javascript:alert(1)">x</a>',
  '<a href="java\nscript:alert(1)">x</a>',
  '<a href="java&Tab;script&colon;alert(1)">x</a>',
  '<a href="&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)">x</a>',
  '<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>',
  '<a href="vbscript:msgbox(1)">x</a>',
  '<a href="//evil.test/">x</a>',
  '<a href="https://x.test/" onmouseover="alert(1)" style="position:fixed;inset:0">x</a>',
  '<a href=\'x" onclick="alert(1)\'>x</a>',
  '<p style="background:url(javascript:alert(1))" onclick=alert(1) id=x class=card>x</p>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="javascript:alert(1)"><embed src="javascript:alert(1)">x',
  '<base href="https://evil.test/"><meta http-equiv="refresh" content="0;url=https://evil.test/">x',
  '<form action="https://evil.test/"><input name=password><button formaction="javascript:alert(1)">x</button></form>',
  '<details open ontoggle=alert(1)>x</details>',
  '<video><source onerror=alert(1)></video>x',
  '<textarea><script>alert(1)</script></textarea>x',
  '<title><a title="</title><img src=x onerror=alert(1)>">x</a>',
  '<!--><img src=x onerror=alert(1)>-->x',
  '<![CDATA[<img src=x onerror=alert(1)>]]>x',
  '<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>x',
  '<p/onclick=alert(1)//<p>x',
  '<<script>alert(1)//<</script>',
  '<a\u0000 href="javascript\u0000:alert(1)">x</a>',
  '<style>@import "https://evil.test/x.css";</style>x',
  '<link rel=stylesheet href=https://evil.test/x.css>x',
];

messages('removes everything that could run scripts, load resources or change styles', async () => {
  for (const vector of VECTORS)
    for (const [start, end] of [
      ['', ''],
      ['<p>before ', ' after</p>'],
      ['<a href="', '">x</a>'],
      ['<b ', '>x'],
    ])
      await assertHarmless(`${start}${vector}${end}`);
});

messages('returns harmless, balanced markup for every combination of fragments', async () => {
  const parts = ['<', '>', '"', "'", '=', '&', '/', ' ', '<a href="', '<p>', '</div>', '<!--', '-->'];
  const random = fc.string({ unit: anyCharacter, maxLength: 8 });
  const fragment = fc.oneof(fc.constantFrom(...VECTORS, ...parts), random);
  await fc.assert(
    fc.asyncProperty(fc.array(fragment, { maxLength: 8 }), (fragments) => assertHarmless(fragments.join(''))),
    { numRuns: 500 },
  );
});

messages.run();
