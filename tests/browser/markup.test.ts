import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { html } from '../../src/http/pages/html.ts';
import { anyCharacter } from '../support/any-character.ts';
import { browserSuite } from '../support/browser.ts';

const markup = browserSuite('markup as a browser reads it');

const SAMPLES = 500;
type Read = { title: string; text: string; elements: number };

markup('holds any text in its place, in text and in attributes', async ({ browser }) => {
  const hostile = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.stringMatching(/^(<|>|"|'|&|=|\/|script|img|onerror|&lt;|&#39|<!--|-->|\r|\n|`| )*$/),
  );
  const texts = fc.sample(hostile, SAMPLES).map((text) => text.toWellFormed());
  const documents = texts.map((text) => html`<p title="${text}">x${text}</p>`.toString());
  await using visit = await browser.open();
  const read = await visit.page.evaluate<Read[]>(`${JSON.stringify(documents)}.map((source) => {
    const { body } = new DOMParser().parseFromString(source, 'text/html');
    const p = body.firstElementChild;
    return { title: p.title, text: p.textContent, elements: body.querySelectorAll('*').length };
  })`);

  assert.is(read.length, SAMPLES);
  for (const [index, text] of texts.entries()) {
    // Line ends are made one kind of, and NUL is no character of HTML: the standard says what becomes of both.
    const lines = text.replaceAll(/\r\n?/g, '\n');
    const expected = { title: lines.replaceAll('\0', '\uFFFD'), text: `x${lines.replaceAll('\0', '')}` };
    assert.equal(read[index], { ...expected, elements: 1 });
  }
});

markup.run();
