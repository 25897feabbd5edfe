import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { html } from '../../src/http/pages/html.ts';
import { anyCharacter } from '../support/any-character.ts';

const markup = suite('html');

/** Text of the kind that leaves its place where it can. */
const hostile = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc
    .array(fc.constantFrom('<', '>', '"', "'", '&', '/', '=', ' ', 'script', '&lt;', '&#39;', '-->', 'x'))
    .map((parts) => parts.join('')),
);
const CHARACTERS: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const read = (escaped: string): string =>
  escaped.replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS[entity] ?? '');

markup('keeps every text in its place, between tags and in attributes, and loses none of it', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const page = html`<p title="${text}">${text}</p>`.toString();
      const [, attribute, content] = /^<p title="([^<>"']*)">([^<>"']*)<\/p>$/s.exec(page) ?? [];
      assert.is(read(attribute ?? 'left'), text);
      assert.is(read(content ?? 'left'), text);
    }),
  );
});

markup('takes HTML of its own as it is, and lists of it', () => {
  const rows = ['a', '<b>'].map((text) => html`<li>${text}</li>`);

  assert.is(html`<ul>${rows}</ul>`.toString(), '<ul><li>a</li><li>&lt;b&gt;</li></ul>');
});

markup('takes nothing that only looks like its own HTML', () => {
  const forged = JSON.parse('{"text":"<b>"}');

  assert.throws(() => html`<p>${forged}</p>`);
});

markup('leaves out null, undefined and false, and writes 0', () => {
  assert.is(html`[${null}${undefined}${false}${0}]`.toString(), '[0]');
});

markup('refuses a value where quotes are missing', () => {
  assert.throws(() => html`<p title=${'x'}>`, /quotes/);
});

markup.run();
